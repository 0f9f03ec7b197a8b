//! SQL of imports.

use shared::hash::{PackageHash, Sha256Hex};
use shared::ids::{AccountId, AppId, DeploymentId, ReleaseId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const APP: &str = "SELECT a.id, a.name, i.source_name FROM imported_apps i JOIN apps a ON a.id = i.app_id \
    WHERE a.owner_id = $1 AND i.source = $2 AND i.source_name = $3 ORDER BY i.imported_time LIMIT 1";
const APP_OF_KEY: &str = "SELECT a.id, a.name, i.source_name FROM deployment_keys k JOIN deployments d ON d.id = k.last_deployment_id \
    JOIN imported_deployments f ON f.deployment_id = d.id JOIN imported_apps i ON i.app_id = d.app_id JOIN apps a ON a.id = d.app_id \
    WHERE k.deployment_key = $3 AND a.owner_id = $1 AND i.source = $2";
// A deleted deployment leaves its app on its key.
const FORMER_APP_OF_KEY: &str = "SELECT a.id, a.name, i.source_name FROM deployment_keys k JOIN imported_apps i ON i.app_id = k.app_id \
    JOIN apps a ON a.id = k.app_id WHERE k.deployment_key = $3 AND k.deployment_id IS NULL AND k.account_id = a.owner_id AND a.owner_id = $1 \
    AND i.source = $2";
const APPS: &str = "SELECT a.id, a.name, i.source_name FROM imported_apps i JOIN apps a ON a.id = i.app_id \
    WHERE a.owner_id = $1 AND i.source = $2 ORDER BY a.name";
const LAST_DEPLOYMENT: &str = "SELECT last_deployment_id FROM deployment_keys WHERE deployment_key = $1";
const RENAME_APP: &str = "UPDATE imported_apps SET source_name = $2 WHERE app_id = $1";
const RENAME_DEPLOYMENT: &str = "UPDATE imported_deployments SET source_name = $2 WHERE deployment_id = $1";
const INSERT_APP: &str = "INSERT INTO imported_apps (app_id, source, source_name, imported_time) VALUES ($1, $2, $3, $4)";
const DEPLOYMENTS: &str = "SELECT i.deployment_id, d.name, d.deployment_key, i.source_name, i.last_label FROM imported_deployments i \
    JOIN deployments d ON d.id = i.deployment_id WHERE d.app_id = $1";
const DEPLOYMENT: &str = "SELECT i.deployment_id, d.name, d.deployment_key, i.source_name, i.last_label FROM imported_deployments i \
    JOIN deployments d ON d.id = i.deployment_id WHERE i.deployment_id = $1";
const COUNTS: &str = "SELECT counts FROM imported_deployments WHERE deployment_id = $1";
const LABELS: &str =
    "SELECT label, package_hash, app_version, description, is_disabled, is_mandatory, rollout FROM releases WHERE deployment_id = $1";
const TOLD: &str = "SELECT i.release_id, i.told FROM imported_releases i JOIN releases r ON r.id = i.release_id WHERE r.deployment_id = $1";
const TELL: &str =
    "INSERT INTO imported_releases (release_id, told) VALUES ($1, $2) ON CONFLICT (release_id) DO UPDATE SET told = excluded.told";
const LEVEL: &str = "SELECT a.source, d.imported_time, d.last_label, d.counts FROM imported_deployments d JOIN deployments ON deployments.id = d.deployment_id \
    JOIN imported_apps a ON a.app_id = deployments.app_id WHERE d.deployment_id = $1";
const INSERT_DEPLOYMENT: &str =
    "INSERT INTO imported_deployments (deployment_id, source_name, last_label, counts, imported_time) VALUES ($1, $2, 0, NULL, $3)";
const UPDATE_DEPLOYMENT: &str = "UPDATE imported_deployments SET last_label = $2, counts = $3, imported_time = $4 WHERE deployment_id = $1";
const RAISE_LABEL: &str = "UPDATE imported_deployments SET last_label = $2 WHERE deployment_id = $1";
const MARK: &str = "INSERT INTO imported_hashes (release_id) VALUES ($1)";
const SOURCE: &str = "SELECT source FROM imported_apps WHERE app_id = $1";
const WAITING_BYTES: &str = "SELECT CAST(COALESCE(SUM(b.size), 0) AS BIGINT) FROM imported_apps i JOIN apps a ON a.id = i.app_id \
    JOIN blobs b ON b.app_id = i.app_id WHERE a.owner_id = $1 AND i.source = $2 AND b.account_id = a.owner_id \
    AND NOT b.is_diff AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.app_id = b.app_id AND (r.blob_sha256 = b.sha256 OR r.manifest_sha256 = b.sha256)) \
    AND NOT EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.app_id = b.app_id AND d.blob_sha256 = b.sha256)";
const KEEP_PACKAGE: &str = "INSERT INTO imported_packages \
    (app_id, sha256, package_hash, hash_with_directories, manifest_sha256, size, stamp, manifest_stamp, expires) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
    ON CONFLICT (app_id, sha256) DO UPDATE SET package_hash = excluded.package_hash, hash_with_directories = excluded.hash_with_directories, \
    manifest_sha256 = excluded.manifest_sha256, size = excluded.size, stamp = excluded.stamp, manifest_stamp = excluded.manifest_stamp, \
    expires = excluded.expires";
const PACKAGE: &str = "SELECT app_id, sha256, package_hash, hash_with_directories, manifest_sha256, size, stamp, manifest_stamp, expires \
    FROM imported_packages WHERE app_id = $1 AND sha256 = $2 AND expires > $3";
const DUE_PACKAGES: &str = "SELECT app_id, sha256, package_hash, hash_with_directories, manifest_sha256, size, stamp, manifest_stamp, expires \
    FROM imported_packages WHERE expires <= $1 ORDER BY expires LIMIT $2";
const POSTPONE_PACKAGE: &str = "UPDATE imported_packages SET expires = $4 WHERE app_id = $1 AND sha256 = $2 AND stamp = $3";
const FORGET_PACKAGE: &str = "DELETE FROM imported_packages WHERE app_id = $1 AND sha256 = $2 AND stamp = $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    APP,
    APP_OF_KEY,
    FORMER_APP_OF_KEY,
    APPS,
    LAST_DEPLOYMENT,
    RENAME_APP,
    RENAME_DEPLOYMENT,
    INSERT_APP,
    DEPLOYMENTS,
    DEPLOYMENT,
    COUNTS,
    LABELS,
    TOLD,
    TELL,
    LEVEL,
    INSERT_DEPLOYMENT,
    UPDATE_DEPLOYMENT,
    RAISE_LABEL,
    MARK,
    SOURCE,
    WAITING_BYTES,
    KEEP_PACKAGE,
    PACKAGE,
    DUE_PACKAGES,
    POSTPONE_PACKAGE,
    FORGET_PACKAGE,
];

/// An app that came from another server.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ImportedAppRow {
    /// The app.
    pub id: AppId,
    /// Its name now.
    pub name: String,
    /// Its name at the source, as the last import saw it.
    pub source_name: String,
}

/// A deployment that came from another server.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ImportedDeploymentRow {
    /// The deployment.
    pub deployment_id: DeploymentId,
    /// Its name now.
    pub name: String,
    /// Its key now.
    pub deployment_key: DeploymentKey,
    /// Its name at the source, as the last import saw it.
    pub source_name: String,
    /// The newest label that came from the source; 0 without releases.
    pub last_label: i64,
}

/// What a deployment had counted at the source.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LevelRow {
    /// The source's address.
    pub source: String,
    /// When it was read.
    pub imported_time: UnixMillis,
    /// The newest label that came from there; 0 without releases.
    pub last_label: i64,
    /// The counts as JSON; `None` without a history.
    pub counts: Option<String>,
}

/// A package that its owner has sent for an import.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PackageRow {
    /// The app.
    pub app_id: AppId,
    /// The hash of its bytes.
    pub sha256: Sha256Hex,
    /// The hash of its files.
    pub package_hash: PackageHash,
    /// The same with directory entries, as some old servers computed it; `None` if there are none.
    pub hash_with_directories: Option<PackageHash>,
    /// Its manifest; `None` for a single file.
    pub manifest_sha256: Option<Sha256Hex>,
    /// Its size in bytes.
    pub size: i64,
    /// The stamp of its blob when it was stored.
    pub stamp: i64,
    /// The stamp of its manifest's blob.
    pub manifest_stamp: Option<i64>,
    /// Until when it is kept for an import.
    pub expires: UnixMillis,
}

/// What an import needs to know of a release that is here.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct LabelRow {
    /// Its label.
    pub label: i64,
    /// The hash of its package.
    pub package_hash: PackageHash,
    /// The binary versions that it targets.
    pub app_version: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// The percentage of devices that get it; `None` is all.
    pub rollout: Option<i64>,
}

/// The account's app that had this name at that server.
pub async fn app(tx: &mut ReadTx, owner: &AccountId, source: &str, name: &str) -> sqlx::Result<Option<ImportedAppRow>> {
    on!(tx, |conn| sqlx::query_as(APP).bind(owner).bind(source).bind(name).fetch_optional(conn).await)
}

/// The account's app that came from that server, and whose deployment from there has this key or had it last.
pub async fn app_of_key(tx: &mut ReadTx, owner: &AccountId, source: &str, key: &DeploymentKey) -> sqlx::Result<Option<ImportedAppRow>> {
    on!(tx, |conn| sqlx::query_as(APP_OF_KEY).bind(owner).bind(source).bind(key.as_str()).fetch_optional(conn).await)
}

/// The account's app that came from that server, and whose deployment with this key was deleted here.
pub async fn former_app_of_key(
    tx: &mut ReadTx,
    owner: &AccountId,
    source: &str,
    key: &DeploymentKey,
) -> sqlx::Result<Option<ImportedAppRow>> {
    on!(tx, |conn| sqlx::query_as(FORMER_APP_OF_KEY).bind(owner).bind(source).bind(key.as_str()).fetch_optional(conn).await)
}

/// The account's apps that came from that server, by name.
pub async fn apps(tx: &mut ReadTx, owner: &AccountId, source: &str) -> sqlx::Result<Vec<ImportedAppRow>> {
    on!(tx, |conn| sqlx::query_as(APPS).bind(owner).bind(source).fetch_all(conn).await)
}

/// The deployment that has this key, or had it last; `None` if nobody ever had it.
pub async fn last_deployment(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<Option<DeploymentId>> {
    let row: Option<Option<DeploymentId>> =
        on!(tx, |conn| sqlx::query_scalar(LAST_DEPLOYMENT).bind(key.as_str()).fetch_optional(conn).await)?;
    Ok(row.flatten())
}

/// Records the name that an app has at the source now.
pub async fn rename_app(tx: &mut WriteTx, app: &AppId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME_APP).bind(app).bind(name).execute(conn).await)
}

/// Records the name that a deployment has at the source now.
pub async fn rename_deployment(tx: &mut WriteTx, deployment: &DeploymentId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME_DEPLOYMENT).bind(deployment).bind(name).execute(conn).await)
}

/// Records where an app came from.
pub async fn insert_app(tx: &mut WriteTx, app: &AppId, source: &str, name: &str, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_APP).bind(app).bind(source).bind(name).bind(now).execute(conn).await)
}

/// The app's deployments that came from the other server.
pub async fn deployments(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<ImportedDeploymentRow>> {
    on!(tx, |conn| sqlx::query_as(DEPLOYMENTS).bind(app).fetch_all(conn).await)
}

/// Where a deployment came from.
pub async fn deployment(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<ImportedDeploymentRow>> {
    on!(tx, |conn| sqlx::query_as(DEPLOYMENT).bind(deployment).fetch_optional(conn).await)
}

/// What a deployment had counted at the source, as JSON; `None` before its history was imported.
pub async fn counts(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<String>> {
    let row: Option<Option<String>> = on!(tx, |conn| sqlx::query_scalar(COUNTS).bind(deployment).fetch_optional(conn).await)?;
    Ok(row.flatten())
}

/// The releases of a deployment.
pub async fn labels(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<LabelRow>> {
    on!(tx, |conn| sqlx::query_as(LABELS).bind(deployment).fetch_all(conn).await)
}

/// What the source has said last about the releases of a deployment, each as JSON.
pub async fn told(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<(ReleaseId, String)>> {
    on!(tx, |conn| sqlx::query_as(TOLD).bind(deployment).fetch_all(conn).await)
}

/// Records what the source says about a release.
pub async fn tell(tx: &mut WriteTx, release: &ReleaseId, told: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TELL).bind(release).bind(told).execute(conn).await)
}

/// What a deployment had counted at the source; `None` if it was not imported.
pub async fn level(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<LevelRow>> {
    on!(tx, |conn| sqlx::query_as(LEVEL).bind(deployment).fetch_optional(conn).await)
}

/// Records where a deployment came from.
pub async fn insert_deployment(tx: &mut WriteTx, deployment: &DeploymentId, name: &str, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_DEPLOYMENT).bind(deployment).bind(name).bind(now).execute(conn).await)
}

/// Records which releases and counts a deployment has from the source.
pub async fn update_deployment(
    tx: &mut WriteTx,
    deployment: &DeploymentId,
    last_label: i64,
    counts: &str,
    now: UnixMillis,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(UPDATE_DEPLOYMENT).bind(deployment).bind(last_label).bind(counts).bind(now).execute(conn).await)
}

/// Records which releases a deployment has from the source. Its counts stay as they were told earlier.
pub async fn raise_label(tx: &mut WriteTx, deployment: &DeploymentId, last_label: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RAISE_LABEL).bind(deployment).bind(last_label).execute(conn).await)
}

/// Marks a release whose package hash covers directory entries.
pub async fn mark(tx: &mut WriteTx, release: &ReleaseId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(MARK).bind(release).execute(conn).await)
}

/// The address of the server that an app came from.
pub async fn source(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(SOURCE).bind(app).fetch_optional(conn).await)
}

/// The bytes that an earlier run of an import has stored, and that no release uses yet.
pub async fn waiting_bytes(tx: &mut ReadTx, owner: &AccountId, source: &str) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(WAITING_BYTES).bind(owner).bind(source).fetch_one(conn).await)
}

/// Keeps a package for an import.
pub async fn keep_package(tx: &mut WriteTx, row: &PackageRow) -> sqlx::Result<u64> {
    let PackageRow { app_id, sha256, package_hash, hash_with_directories, manifest_sha256, size, stamp, manifest_stamp, expires } = row;
    on_write!(tx, |conn| sqlx::query(KEEP_PACKAGE)
        .bind(app_id)
        .bind(sha256)
        .bind(package_hash)
        .bind(hash_with_directories)
        .bind(manifest_sha256)
        .bind(size)
        .bind(stamp)
        .bind(manifest_stamp)
        .bind(expires)
        .execute(conn)
        .await)
}

/// A package that was sent for an import.
pub async fn package(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex, now: UnixMillis) -> sqlx::Result<Option<PackageRow>> {
    on!(tx, |conn| sqlx::query_as(PACKAGE).bind(app).bind(sha256).bind(now).fetch_optional(conn).await)
}

/// Packages that are no longer kept.
pub async fn due_packages(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<PackageRow>> {
    on!(tx, |conn| sqlx::query_as(DUE_PACKAGES).bind(now).bind(limit).fetch_all(conn).await)
}

/// Keeps a package until then, unless it was sent again.
pub async fn postpone_package(tx: &mut WriteTx, row: &PackageRow, expires: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(POSTPONE_PACKAGE)
        .bind(&row.app_id)
        .bind(&row.sha256)
        .bind(row.stamp)
        .bind(expires)
        .execute(conn)
        .await)
}

/// Forgets a package, unless it was sent again.
pub async fn forget_package(tx: &mut WriteTx, row: &PackageRow) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGET_PACKAGE).bind(&row.app_id).bind(&row.sha256).bind(row.stamp).execute(conn).await)
}
