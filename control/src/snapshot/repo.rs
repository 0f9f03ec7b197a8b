//! SQL of what a snapshot is made from.

use std::collections::{BTreeSet, HashMap};

use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId};
use shared::keys::{DeploymentKey, Label};
use shared::snapshot::{DiffSource, HistoryRelease, SnapshotHeader};
use shared::time::UnixMillis;
use sqlx::{Database, Encode, Postgres, QueryBuilder, Sqlite, Type};

use crate::db::{Glance, ReadTx};
use crate::error::{AppError, AppResult};
use crate::on;

/// Keys in one statement.
const CHUNK: usize = 500;

const FIND_KEY: &str = "SELECT app_id, deployment_id, last_deployment_id, snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const RELEASES: &str = "SELECT id, label, app_version, description, is_mandatory, is_disabled, rollout, package_hash, blob_sha256, size \
    FROM releases WHERE deployment_id = $1 ORDER BY label DESC";
const DIFFS: &str = "SELECT d.release_id, d.source_hash, d.blob_sha256, d.size \
    FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.deployment_id = $1 ORDER BY d.release_id, d.source_hash";
const VERSION: &str = "SELECT snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const VERSIONS: &str = "SELECT k.deployment_key, k.snapshot_version, k.snapshot_written_time, o.deployment_key AS open \
    FROM deployment_keys k LEFT JOIN snapshot_outbox o ON o.deployment_key = k.deployment_key";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_KEY, RELEASES, DIFFS, VERSION, VERSIONS];

/// A deployment key, as far as its snapshot goes.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    app_id: AppId,
    /// None once the deployment is gone.
    deployment_id: Option<DeploymentId>,
    last_deployment_id: DeploymentId,
    /// The version of its newest snapshot.
    pub snapshot_version: i64,
}

impl KeyRow {
    /// The deployment that the key serves now.
    pub fn deployment(&self) -> Option<&DeploymentId> {
        self.deployment_id.as_ref()
    }

    /// What stands at the head of its snapshot.
    pub fn header(&self, made: UnixMillis) -> SnapshotHeader {
        SnapshotHeader { deployment: self.last_deployment_id.clone(), app: self.app_id.clone(), version: self.snapshot_version, made }
    }
}

#[derive(sqlx::FromRow)]
struct ReleaseRow {
    id: String,
    label: i64,
    app_version: String,
    description: Option<String>,
    is_mandatory: bool,
    is_disabled: bool,
    rollout: Option<i64>,
    package_hash: Sha256Hex,
    blob_sha256: Sha256Hex,
    size: i64,
}

#[derive(sqlx::FromRow)]
struct DiffRow {
    release_id: String,
    source_hash: Sha256Hex,
    blob_sha256: Sha256Hex,
    size: i64,
}

/// What is known of a key's version, for the comparison with KV.
#[derive(Debug, sqlx::FromRow)]
pub struct VersionRow {
    /// The key.
    pub deployment_key: String,
    /// The version of its newest snapshot.
    pub snapshot_version: i64,
    /// When KV last took one.
    pub snapshot_written_time: UnixMillis,
    /// The key again, when the outbox has a row of it.
    open: Option<String>,
}

impl VersionRow {
    /// Whether the publisher is going to write it anyway.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// The key's row, by one indexed read; none when the key never was.
pub async fn find_key(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_KEY).bind(key.as_str()).fetch_optional(conn).await)
}

/// The versions of these keys; those that never were are missing.
pub async fn versions_of(glance: &mut Glance, keys: &BTreeSet<&DeploymentKey>) -> sqlx::Result<HashMap<DeploymentKey, i64>> {
    let keys: Vec<_> = keys.iter().copied().collect();
    let mut found = HashMap::with_capacity(keys.len());
    if let [key] = keys.as_slice() {
        // Most of the time; so that there is one text that stays prepared.
        let version: Option<i64> = match glance {
            Glance::Sqlite(connection) => sqlx::query_scalar(VERSION).bind(key.as_str()).fetch_optional(&mut **connection).await,
            Glance::Postgres(connection) => sqlx::query_scalar(VERSION).bind(key.as_str()).fetch_optional(&mut **connection).await,
        }?;
        found.extend(version.map(|version| ((*key).clone(), version)));
        return Ok(found);
    }
    for chunk in keys.chunks(CHUNK) {
        let rows: Vec<(DeploymentKey, i64)> = match glance {
            Glance::Sqlite(connection) => list::<Sqlite>(chunk).build_query_as().persistent(false).fetch_all(&mut **connection).await,
            Glance::Postgres(connection) => list::<Postgres>(chunk).build_query_as().persistent(false).fetch_all(&mut **connection).await,
        }?;
        found.extend(rows);
    }
    Ok(found)
}

fn list<'k, D: Database>(keys: &'k [&'k DeploymentKey]) -> QueryBuilder<D>
where
    &'k str: Encode<'k, D> + Type<D>,
{
    let mut query = QueryBuilder::new("SELECT deployment_key, snapshot_version FROM deployment_keys WHERE deployment_key IN (");
    let mut list = query.separated(", ");
    for key in keys {
        list.push_bind(key.as_str());
    }
    query.push(")");
    query
}

/// The deployment's whole history, newest first.
pub async fn history(tx: &mut ReadTx, deployment: &DeploymentId) -> AppResult<Vec<HistoryRelease>> {
    let rows: Vec<ReleaseRow> = on!(tx, |conn| sqlx::query_as(RELEASES).bind(deployment).fetch_all(conn).await)?;
    let diffs: Vec<DiffRow> = on!(tx, |conn| sqlx::query_as(DIFFS).bind(deployment).fetch_all(conn).await)?;
    let mut by_release: HashMap<String, Vec<DiffSource>> = HashMap::new();
    for diff in diffs {
        let source = DiffSource { source_hash: diff.source_hash, blob: diff.blob_sha256, size: number(diff.size)? };
        by_release.entry(diff.release_id).or_default().push(source);
    }
    rows.into_iter()
        .map(|row| {
            Ok(HistoryRelease {
                label: Label::new(number(row.label)?).ok_or_else(|| AppError::internal("a stored label is out of bounds"))?,
                range: row.app_version,
                package_hash: row.package_hash,
                is_mandatory: row.is_mandatory,
                is_disabled: row.is_disabled,
                rollout: row.rollout.map(number).transpose()?,
                description: row.description,
                size: number(row.size)?,
                blob: row.blob_sha256,
                diffs: by_release.remove(&row.id).unwrap_or_default(),
            })
        })
        .collect()
}

/// Every key with its version, deleted deployments' included.
pub async fn versions(tx: &mut ReadTx) -> sqlx::Result<Vec<VersionRow>> {
    on!(tx, |conn| sqlx::query_as(VERSIONS).fetch_all(conn).await)
}

/// A stored number, in the type that its limits allow.
fn number<T: TryFrom<i64, Error: std::error::Error + Send + Sync + 'static>>(stored: i64) -> AppResult<T> {
    T::try_from(stored).map_err(AppError::internal)
}
