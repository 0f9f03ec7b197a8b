//! SQL that reads the contents of a snapshot.

use std::collections::{BTreeSet, HashMap};

use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId};
use shared::keys::{DeploymentKey, Label};
use shared::snapshot::{DiffSource, HistoryRelease, ReleaseOutline, SnapshotHeader, json_length, offered};
use shared::time::UnixMillis;

use crate::domain::error::{Error, Result};
use crate::infra::db::{ReadConnection, ReadTx};
use crate::on;

/// Keys per statement.
const CHUNK: usize = 500;

/// Descriptions per statement, so that not much more is read than fits.
const DESCRIPTIONS_AT_ONCE: usize = 64;

const FIND_KEY: &str = "SELECT app_id, deployment_id, last_deployment_id, snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const FIND_ACCOUNT: &str = "SELECT account_id FROM deployment_keys WHERE deployment_key = $1";
// Covered by an index: in the rows, long descriptions come before the columns needed here.
const RELEASES: &str = "SELECT id, label, app_version, description_bytes, is_mandatory, is_disabled, rollout, package_hash, blob_sha256, size \
    FROM releases WHERE deployment_id = $1 ORDER BY label DESC";
const DIFFS: &str = "SELECT d.release_id, d.source_hash, d.blob_sha256, d.size \
    FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.deployment_id = $1 ORDER BY d.release_id, d.source_hash";
const VERSION: &str = "SELECT snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const VERSIONS_OF: &str = "SELECT deployment_key, snapshot_version FROM deployment_keys WHERE deployment_key IN ([?])";
const DESCRIPTIONS: &str = "SELECT id, description FROM releases WHERE description IS NOT NULL AND id IN ([?])";
const VERSIONS: &str = "SELECT k.deployment_key, k.deployment_id, k.snapshot_version, k.snapshot_written_time, o.key AS open \
    FROM deployment_keys k LEFT JOIN outbox o ON o.kind = 'snapshot' AND o.key = k.deployment_key";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_KEY, FIND_ACCOUNT, RELEASES, DIFFS, VERSION, VERSIONS_OF, DESCRIPTIONS, VERSIONS];

/// The columns of a deployment key that its snapshot needs.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    app_id: AppId,
    /// `None` once the deployment is deleted.
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

    /// The header of its snapshot.
    pub fn header(&self, created: UnixMillis) -> SnapshotHeader {
        SnapshotHeader { deployment: self.last_deployment_id.clone(), app: self.app_id.clone(), version: self.snapshot_version, created }
    }
}

#[derive(sqlx::FromRow)]
struct ReleaseRow {
    id: String,
    label: i64,
    app_version: String,
    /// `None` if the previous version wrote the row.
    description_bytes: Option<i64>,
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

/// A key's version, to compare with KV.
#[derive(Debug, sqlx::FromRow)]
pub struct VersionRow {
    /// The key.
    pub deployment_key: DeploymentKey,
    deployment_id: Option<DeploymentId>,
    /// The version of its newest snapshot.
    pub snapshot_version: i64,
    /// When KV last accepted one.
    pub snapshot_written_time: UnixMillis,
    /// The key again, if it has a row in the outbox.
    open: Option<String>,
}

impl VersionRow {
    /// Whether its snapshot is a tombstone.
    pub fn is_tombstone(&self) -> bool {
        self.deployment_id.is_none()
    }

    /// Whether the publisher will write it anyway.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// Finds the key's row with one indexed read; `None` if the key never existed.
pub async fn find_key(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_KEY).bind(key.as_str()).fetch_optional(conn).await)
}

/// The key's account as text: empty for a key that the operator has freed.
pub async fn find_account(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_ACCOUNT).bind(key.as_str()).fetch_optional(conn).await)
}

/// The versions of these keys, without keys that never existed.
pub async fn versions_of(connection: &mut ReadConnection, keys: &BTreeSet<&DeploymentKey>) -> sqlx::Result<HashMap<DeploymentKey, i64>> {
    let keys: Vec<_> = keys.iter().copied().collect();
    let mut found = HashMap::with_capacity(keys.len());
    if let [key] = keys.as_slice() {
        // The common case: a fixed statement, which stays prepared.
        let version: Option<i64> = on!(connection, |conn| sqlx::query_scalar(VERSION).bind(key.as_str()).fetch_optional(conn).await)?;
        found.extend(version.map(|version| ((*key).clone(), version)));
        return Ok(found);
    }
    for chunk in keys.chunks(CHUNK) {
        let sql = connection.listed(VERSIONS_OF, chunk.len());
        let rows: Vec<(DeploymentKey, i64)> = on!(connection, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for key in chunk {
                query = query.bind(key.as_str());
            }
            query.fetch_all(conn).await
        })?;
        found.extend(rows);
    }
    Ok(found)
}

/// The deployment's whole history, newest first. Leaves out descriptions that a snapshot has no room for: those of releases that cannot be offered,
/// and the oldest ones if all together exceed `max_bytes`.
pub async fn history(tx: &mut ReadTx, deployment: &DeploymentId, max_bytes: usize) -> Result<Vec<HistoryRelease>> {
    let rows: Vec<ReleaseRow> = on!(tx, |conn| sqlx::query_as(RELEASES).bind(deployment).fetch_all(conn).await)?;
    let mut descriptions = descriptions(tx, &rows, max_bytes).await?;
    let diffs: Vec<DiffRow> = on!(tx, |conn| sqlx::query_as(DIFFS).bind(deployment).fetch_all(conn).await)?;
    let mut by_release: HashMap<String, Vec<DiffSource>> = HashMap::new();
    for diff in diffs {
        let source = DiffSource { source_hash: diff.source_hash, blob: diff.blob_sha256, size: number(diff.size)? };
        by_release.entry(diff.release_id).or_default().push(source);
    }
    rows.into_iter()
        .map(|row| {
            Ok(HistoryRelease {
                label: Label::new(number(row.label)?).ok_or_else(|| Error::internal("a stored label is out of range"))?,
                range: row.app_version,
                package_hash: row.package_hash,
                is_mandatory: row.is_mandatory,
                is_disabled: row.is_disabled,
                rollout: row.rollout.map(number).transpose()?,
                description: descriptions.remove(&row.id),
                size: number(row.size)?,
                blob: row.blob_sha256,
                diffs: by_release.remove(&row.id).unwrap_or_default(),
            })
        })
        .collect()
}

/// The descriptions of releases that can be offered, by release id: from the newest on, until they exceed `max_bytes`.
async fn descriptions(tx: &mut ReadTx, newest_first: &[ReleaseRow], max_bytes: usize) -> Result<HashMap<String, String>> {
    let outlines = newest_first.iter().map(|row| {
        let rollout = row.rollout.map(number).transpose()?;
        Ok(ReleaseOutline { range: &row.app_version, is_disabled: row.is_disabled, rollout, description: 0 })
    });
    let offered = offered(&outlines.collect::<Result<Vec<_>>>()?);
    let described = |(row, is_offered): &(&ReleaseRow, bool)| *is_offered && row.description_bytes != Some(0);
    let ids: Vec<&str> = newest_first.iter().zip(offered).filter(described).map(|(row, _)| row.id.as_str()).collect();
    let (mut found, mut bytes) = (HashMap::with_capacity(ids.len()), 0);
    for chunk in ids.chunks(DESCRIPTIONS_AT_ONCE) {
        let sql = tx.listed(DESCRIPTIONS, chunk.len());
        let rows: Vec<(String, String)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for id in chunk {
                query = query.bind(*id);
            }
            query.fetch_all(conn).await
        })?;
        bytes += rows.iter().map(|(_, text)| json_length(text)).sum::<u64>();
        found.extend(rows);
        if bytes > u64::try_from(max_bytes).unwrap_or(u64::MAX) {
            break;
        }
    }
    Ok(found)
}

/// Every key with its version, including those of deleted deployments.
pub async fn versions(tx: &mut ReadTx) -> sqlx::Result<Vec<VersionRow>> {
    on!(tx, |conn| sqlx::query_as(VERSIONS).fetch_all(conn).await)
}

/// Converts a stored number to a narrower type.
fn number<T: TryFrom<i64, Error: std::error::Error + Send + Sync + 'static>>(stored: i64) -> Result<T> {
    T::try_from(stored).map_err(Error::internal)
}
