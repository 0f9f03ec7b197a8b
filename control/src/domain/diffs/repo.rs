//! SQL of diffs.

use std::collections::HashMap;

use shared::hash::{PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::time::UnixMillis;

use super::Problem;
use crate::domain::releases::ReleaseMethod;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// Bundles in one statement.
const CHUNK: usize = 400;

const RELEASES: &str = "SELECT id, label, app_version, is_disabled, rollout, package_hash, blob_sha256, manifest_sha256, size, release_method, upload_time \
    FROM releases WHERE deployment_id = $1 ORDER BY label DESC";
const PACKAGE_OF: &str = "SELECT package_hash, blob_sha256 FROM releases WHERE id = $1";
const MADE: &str = "SELECT base_sha256, blob_sha256, size, problem, made_time FROM package_diffs \
    WHERE app_id = $1 AND target_sha256 = $2 AND target_hash = $3";
// SQLite keeps the order of a CROSS JOIN: it looks up one bundle after the other.
const MADE_OF: &str = "WITH wanted (app, target, hash) AS (VALUES [(?, ?, ?)]) \
    SELECT target_sha256, target_hash, base_sha256, blob_sha256, size, problem, made_time FROM wanted CROSS JOIN package_diffs \
    WHERE app_id = app AND target_sha256 = target AND target_hash = hash";
const RECORD: &str = "INSERT INTO package_diffs (app_id, target_sha256, target_hash, base_sha256, blob_sha256, size, problem, made_time, times) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1) ON CONFLICT (app_id, target_sha256, target_hash, base_sha256) DO UPDATE SET blob_sha256 = excluded.blob_sha256, \
    size = excluded.size, problem = excluded.problem, made_time = excluded.made_time, times = package_diffs.times + 1";
const NOTE_LOOK: &str = "UPDATE package_diffs SET made_time = $5 \
    WHERE app_id = $1 AND target_sha256 = $2 AND target_hash = $3 AND base_sha256 = $4 AND blob_sha256 IS NOT NULL";
const FORGET: &str = "DELETE FROM package_diffs WHERE app_id = $1 AND target_sha256 = $2 AND target_hash = $3 AND base_sha256 = $4";
const ATTACH: &str = "INSERT INTO release_diffs (release_id, source_hash, blob_sha256, size) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (release_id, source_hash) DO UPDATE SET blob_sha256 = excluded.blob_sha256, size = excluded.size";
const DETACH: &str = "DELETE FROM release_diffs WHERE release_id = $1 AND source_hash = $2";
// Its packages or the diff itself were deleted, because nothing needed them any more.
const STALE: &str = "SELECT target_sha256, target_hash, base_sha256 FROM package_diffs WHERE app_id = $1 AND NOT ( \
    EXISTS (SELECT 1 FROM blobs b WHERE b.app_id = $1 AND b.sha256 = package_diffs.target_sha256) \
    AND EXISTS (SELECT 1 FROM blobs b WHERE b.app_id = $1 AND b.sha256 = package_diffs.base_sha256) \
    AND (blob_sha256 IS NULL OR EXISTS (SELECT 1 FROM blobs b WHERE b.app_id = $1 AND b.sha256 = package_diffs.blob_sha256))) LIMIT $2";
// An ID says when its row was stored. An imported release keeps the time of its upload.
const BUNDLES: &str = "SELECT blob_sha256, MIN(id) AS first_id FROM releases WHERE app_id = $1 AND manifest_sha256 IS NOT NULL \
    GROUP BY blob_sha256 ORDER BY MAX(upload_time) DESC, blob_sha256 LIMIT $2";
// Only what is offered, or would be.
const STAMP_OF_NEEDED: &str = "SELECT b.last_used_time FROM blobs b WHERE b.app_id = $1 AND b.sha256 = $2 AND b.is_diff AND b.deleting = FALSE AND ( \
    EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE d.blob_sha256 = b.sha256 AND r.app_id = b.app_id) \
    OR EXISTS (SELECT 1 FROM package_diffs p WHERE p.app_id = b.app_id AND p.blob_sha256 = b.sha256))";
const DEPLOYMENTS_WITH: &str = "SELECT DISTINCT r.deployment_id FROM release_diffs d JOIN releases r ON r.id = d.release_id \
    WHERE r.app_id = $1 AND d.blob_sha256 = $2 ORDER BY r.deployment_id";
const DETACH_BLOB: &str =
    "DELETE FROM release_diffs WHERE blob_sha256 = $2 AND release_id IN (SELECT id FROM releases WHERE deployment_id = $1)";
const FORGET_BLOB: &str = "DELETE FROM package_diffs WHERE app_id = $1 AND blob_sha256 = $2";
const DETACH_ALL: &str = "DELETE FROM release_diffs WHERE release_id IN (SELECT id FROM releases WHERE app_id = $1)";
const FORGET_MADE: &str = "DELETE FROM package_diffs WHERE app_id = $1 AND blob_sha256 IS NOT NULL";
const FORGET_NO_ROOM: &str = "DELETE FROM package_diffs WHERE app_id = $1 AND problem = $2";
const FORGET_UNFINISHED: &str = "DELETE FROM package_diffs WHERE app_id = $1 AND problem = $2 AND made_time = $3";
// Of each account the app that waits longest.
const WAITING: &str = "SELECT w.key, w.account, w.due FROM (SELECT o.key AS key, COALESCE(a.owner_id, '') AS account, o.next_attempt_time AS due, \
    ROW_NUMBER() OVER (PARTITION BY COALESCE(a.owner_id, '') ORDER BY o.next_attempt_time, o.key) AS place \
    FROM outbox o LEFT JOIN apps a ON a.id = o.key WHERE o.kind = 'diffs' AND o.next_attempt_time <= $1 AND o.lease_until <= $1) w \
    WHERE w.place = 1 ORDER BY w.due, w.key LIMIT $2";
const REPORTED: &str = "SELECT a.id FROM apps a WHERE a.id > $2 AND EXISTS (SELECT 1 FROM deployments d JOIN metric_minutes m \
    ON m.deployment_id = d.id AND m.epoch = d.counting_epoch AND m.minute >= $1 WHERE d.app_id = a.id) ORDER BY a.id LIMIT $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    RELEASES,
    PACKAGE_OF,
    MADE,
    MADE_OF,
    RECORD,
    NOTE_LOOK,
    FORGET,
    ATTACH,
    DETACH,
    STALE,
    BUNDLES,
    STAMP_OF_NEEDED,
    DEPLOYMENTS_WITH,
    DETACH_BLOB,
    FORGET_BLOB,
    DETACH_ALL,
    FORGET_MADE,
    FORGET_NO_ROOM,
    FORGET_UNFINISHED,
    WAITING,
    REPORTED,
];

/// What diffs need of a release.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ReleaseRow {
    /// Its id.
    pub id: ReleaseId,
    /// The number of its label.
    pub label: i64,
    /// The app binary versions that it targets.
    pub app_version: String,
    /// Whether it is disabled: offered to no device.
    pub is_disabled: bool,
    /// 1-99 for a staged rollout.
    pub rollout: Option<i64>,
    /// The hash of its contents.
    pub package_hash: PackageHash,
    /// The bundle.
    pub blob_sha256: Sha256Hex,
    /// The file manifest; a single-file package has none.
    pub manifest_sha256: Option<Sha256Hex>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// How it was created.
    pub release_method: ReleaseMethod,
    /// When it was created.
    pub upload_time: UnixMillis,
}

/// A package that diffs lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target<'r> {
    /// The bundle.
    pub bundle: &'r Sha256Hex,
    /// The package hash that its release has: devices verify it after the diff.
    pub hash: &'r PackageHash,
}

impl ReleaseRow {
    /// Its package.
    pub fn target(&self) -> Target<'_> {
        Target { bundle: &self.blob_sha256, hash: &self.package_hash }
    }
}

/// What became of the diff between two bundles.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct MadeRow {
    /// The earlier bundle.
    pub base_sha256: Sha256Hex,
    /// The diff; `None` if there is a problem.
    pub blob_sha256: Option<Sha256Hex>,
    /// The diff's size in bytes; 0 if there is none.
    pub size: i64,
    /// Why there is none.
    pub problem: Option<Problem>,
    /// When it was made or tried. For one that was made, when the app's packages were last looked at.
    pub made_time: UnixMillis,
}

/// The deployment's releases, newest first.
pub async fn releases(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(RELEASES).bind(deployment).fetch_all(conn).await)
}

/// The package hash and the bundle of a release; `None` if it was deleted.
pub async fn package_of(tx: &mut ReadTx, release: &ReleaseId) -> sqlx::Result<Option<(PackageHash, Sha256Hex)>> {
    on!(tx, |conn| sqlx::query_as(PACKAGE_OF).bind(release).fetch_optional(conn).await)
}

/// What became of the diffs that lead to a package.
pub async fn made(tx: &mut ReadTx, app: &AppId, target: Target<'_>) -> sqlx::Result<Vec<MadeRow>> {
    on!(tx, |conn| sqlx::query_as(MADE).bind(app).bind(target.bundle).bind(target.hash).fetch_all(conn).await)
}

/// A package, and what became of a diff that leads to it.
#[derive(Debug, sqlx::FromRow)]
struct MadeOfRow {
    target_sha256: Sha256Hex,
    target_hash: PackageHash,
    #[sqlx(flatten)]
    made: MadeRow,
}

/// What became of the diffs that lead to these packages, by bundle and package hash.
pub async fn made_of(
    tx: &mut ReadTx,
    app: &AppId,
    targets: &[Target<'_>],
) -> sqlx::Result<HashMap<(Sha256Hex, PackageHash), Vec<MadeRow>>> {
    let mut found: HashMap<_, Vec<MadeRow>> = HashMap::new();
    for chunk in targets.chunks(CHUNK) {
        let sql = tx.listed(MADE_OF, chunk.len());
        let rows: Vec<MadeOfRow> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for target in chunk {
                query = query.bind(app).bind(target.bundle).bind(target.hash);
            }
            query.fetch_all(conn).await
        })?;
        for row in rows {
            found.entry((row.target_sha256, row.target_hash)).or_default().push(row.made);
        }
    }
    Ok(found)
}

/// Stores what became of a diff to a package.
pub async fn record(tx: &mut WriteTx, app: &AppId, target: Target<'_>, row: &MadeRow) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RECORD)
        .bind(app)
        .bind(target.bundle)
        .bind(target.hash)
        .bind(&row.base_sha256)
        .bind(&row.blob_sha256)
        .bind(row.size)
        .bind(row.problem.map(Problem::as_str))
        .bind(row.made_time)
        .execute(conn)
        .await)
}

/// Records that the app's packages were looked at for a diff that was made.
pub async fn note_look(tx: &mut WriteTx, app: &AppId, target: Target<'_>, base: &Sha256Hex, time: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(NOTE_LOOK).bind(app).bind(target.bundle).bind(target.hash).bind(base).bind(time).execute(conn).await)
}

/// Forgets a diff; the next turn makes it if it is still needed.
pub async fn forget(tx: &mut WriteTx, app: &AppId, target: Target<'_>, base: &Sha256Hex) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET).bind(app).bind(target.bundle).bind(target.hash).bind(base).execute(conn).await)
}

/// Lets devices with the package `source` be offered this diff.
pub async fn attach(tx: &mut WriteTx, release: &ReleaseId, source: &PackageHash, blob: &Sha256Hex, size: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(ATTACH).bind(release).bind(source).bind(blob).bind(size).execute(conn).await)
}

/// Lets no device be offered the diff from the package `source` any more.
pub async fn detach(tx: &mut WriteTx, release: &ReleaseId, source: &PackageHash) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DETACH).bind(release).bind(source).execute(conn).await)
}

/// A row that is to be forgotten: the names of two packages and the hash of the later one.
#[derive(Debug, sqlx::FromRow)]
pub struct ObsoleteRow {
    /// The later bundle.
    pub target_sha256: Sha256Hex,
    /// The package hash that its release has.
    pub target_hash: PackageHash,
    /// The earlier bundle.
    pub base_sha256: Sha256Hex,
}

/// Diffs whose packages or bytes were deleted, so many at most. All that is known of the app is read, so no transaction that writes should do it.
pub async fn stale(tx: &mut ReadTx, app: &AppId, limit: i64) -> sqlx::Result<Vec<ObsoleteRow>> {
    on!(tx, |conn| sqlx::query_as(STALE).bind(app).bind(limit).fetch_all(conn).await)
}

/// A bundle of an app's releases.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct BundleRow {
    /// The bundle.
    pub blob_sha256: Sha256Hex,
    /// The first release with it that was stored.
    first_id: ReleaseId,
}

impl BundleRow {
    /// When the first release with it was stored, here: an imported one, when it was imported.
    pub fn first_time(&self) -> UnixMillis {
        self.first_id.created().unwrap_or(UnixMillis(0))
    }
}

/// The bundles of an app's releases, those of the newest releases first. Single files are left out.
pub async fn bundles(tx: &mut ReadTx, app: &AppId, limit: i64) -> sqlx::Result<Vec<BundleRow>> {
    on!(tx, |conn| sqlx::query_as(BUNDLES).bind(app).bind(limit).fetch_all(conn).await)
}

/// The stamp of the last use of a diff's blob; `None` if the blob is no diff, or if nothing refers to it.
pub async fn stamp_of_needed(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(STAMP_OF_NEEDED).bind(app).bind(sha256).fetch_optional(conn).await)
}

/// The deployments with releases that devices are offered this diff to, by id.
pub async fn deployments_with(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<Vec<DeploymentId>> {
    on!(tx, |conn| sqlx::query_scalar(DEPLOYMENTS_WITH).bind(app).bind(sha256).fetch_all(conn).await)
}

/// Lets no device be offered this diff to a release of the deployment any more.
pub async fn detach_blob(tx: &mut WriteTx, deployment: &DeploymentId, sha256: &Sha256Hex) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DETACH_BLOB).bind(deployment).bind(sha256).execute(conn).await)
}

/// Forgets the diffs with these bytes; the next turn makes those that are still needed.
pub async fn forget_blob(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET_BLOB).bind(app).bind(sha256).execute(conn).await)
}

/// Lets no device be offered a diff to a release of the app any more.
pub async fn detach_all(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DETACH_ALL).bind(app).execute(conn).await)
}

/// Forgets all diffs of the app that were made; the next turns make those that are still needed.
pub async fn forget_made(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET_MADE).bind(app).execute(conn).await)
}

/// Forgets which diffs of the app were not made for lack of room.
pub async fn forget_no_room(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET_NO_ROOM).bind(app).bind(Problem::NoRoom.as_str()).execute(conn).await)
}

/// Forgets which diffs of the app are unfinished with this time.
pub async fn forget_unfinished(tx: &mut WriteTx, app: &AppId, time: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET_UNFINISHED).bind(app).bind(Problem::Unfinished.as_str()).bind(time).execute(conn).await)
}

/// An app whose diffs are due to be looked at.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Waiting {
    /// The app, as the key of its row in the outbox.
    pub key: String,
    /// The account that it belongs to; empty if the app was deleted.
    pub account: String,
    /// Since when it is due.
    pub due: UnixMillis,
}

/// Of each account the app that waits longest and that nobody works on, longest due first.
pub async fn waiting(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<Waiting>> {
    on!(tx, |conn| sqlx::query_as(WAITING).bind(now).bind(limit).fetch_all(conn).await)
}

/// The next apps after `after` whose devices have reported something since.
pub async fn reported(tx: &mut ReadTx, since: UnixMillis, after: &str, limit: i64) -> sqlx::Result<Vec<AppId>> {
    on!(tx, |conn| sqlx::query_scalar(REPORTED).bind(since).bind(after).bind(limit).fetch_all(conn).await)
}
