//! SQL of releases.

use serde::{Deserialize, Serialize};
use shared::hash::Sha256Hex;
use shared::ids::{AccountId, AppId, DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::time::UnixMillis;

use super::ReleaseMethod;
use crate::domain::releases::size::description_bytes;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// A query for full release rows; the arguments are the conditions.
macro_rules! releases {
    ($($which:literal),+) => {
        concat!(
            "SELECT id, deployment_id, label, app_version, description, is_mandatory, is_disabled, rollout, package_hash, blob_sha256, \
             manifest_sha256, size, release_method, original_label, original_deployment, released_by, upload_time FROM releases r WHERE ",
            $($which),+
        )
    };
}

/// A query for full release rows of the deployment `$1`.
macro_rules! releases_where {
    ($which:literal) => {
        releases!("deployment_id = $1 ", $which)
    };
}

const INSERT: &str = "INSERT INTO releases (id, deployment_id, app_id, label, app_version, description, is_mandatory, is_disabled, rollout, \
    package_hash, blob_sha256, manifest_sha256, size, release_method, original_label, original_deployment, released_by, upload_time, \
    description_bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
const UPDATE: &str = "UPDATE releases SET app_version = $2, description = $3, is_mandatory = $4, is_disabled = $5, rollout = $6, \
    package_hash = $7, description_bytes = $8 WHERE id = $1";
const DELETE_ALL: &str = "DELETE FROM releases WHERE deployment_id = $1";
const HISTORY: &str = releases_where!("ORDER BY label");
const NEWEST: &str = releases_where!("ORDER BY label DESC LIMIT 1");
const NEWEST_OF_APP: &str = releases!(
    "deployment_id IN (SELECT id FROM deployments WHERE app_id = $1) \
     AND label = (SELECT MAX(n.label) FROM releases n WHERE n.deployment_id = r.deployment_id)"
);
const NEWEST_OF: &str =
    releases!("deployment_id IN ([?]) AND label = (SELECT MAX(n.label) FROM releases n WHERE n.deployment_id = r.deployment_id)");
// Each step looks only at the next enabled release, so many disabled ones cost little.
const NEWEST_ENABLED_OF: &str = releases!(
    "deployment_id IN ([?]) AND NOT is_disabled \
     AND NOT EXISTS (SELECT 1 FROM releases n WHERE n.deployment_id = r.deployment_id AND n.label > r.label AND NOT n.is_disabled)"
);
const LABELED: &str = "SELECT r.app_id, d.name AS deployment, r.label, r.app_version, r.released_by, r.upload_time FROM collaborators c \
    JOIN apps a ON a.id = c.app_id JOIN deployments d ON d.app_id = c.app_id JOIN releases r ON r.deployment_id = d.id \
    WHERE c.account_id = $1 AND r.label = $2 \
    ORDER BY CASE WHEN a.owner_id = $1 OR c.accepted_time IS NOT NULL THEN 0 ELSE 1 END, r.upload_time DESC, r.id DESC LIMIT $3";
const NEWEST_ENABLED: &str = releases_where!("AND NOT is_disabled ORDER BY label DESC LIMIT 1");
const BEFORE: &str = releases_where!("AND label < $2 ORDER BY label DESC LIMIT 1");
const FIND: &str = releases_where!("AND label = $2");
const LIST_UP: &str = releases_where!(
    "AND label > $2 AND (CAST($3 AS TEXT) IS NULL OR app_version = $3) AND (CAST($4 AS TEXT) IS NULL OR release_method = $4) \
     AND (CAST($5 AS BOOLEAN) IS NULL OR is_disabled = $5) AND (CAST($6 AS BOOLEAN) IS NULL OR is_mandatory = $6) ORDER BY label LIMIT $7"
);
const LIST_DOWN: &str = releases_where!(
    "AND label < $2 AND (CAST($3 AS TEXT) IS NULL OR app_version = $3) AND (CAST($4 AS TEXT) IS NULL OR release_method = $4) \
     AND (CAST($5 AS BOOLEAN) IS NULL OR is_disabled = $5) AND (CAST($6 AS BOOLEAN) IS NULL OR is_mandatory = $6) ORDER BY label DESC LIMIT $7"
);
const RANGES: &str =
    "SELECT label, app_version, package_hash, is_disabled, rollout FROM releases WHERE deployment_id = $1 ORDER BY label DESC";
const DIFFS: &str = "SELECT d.release_id, d.source_hash, d.blob_sha256, d.size FROM release_diffs d JOIN releases r ON r.id = d.release_id \
    WHERE r.deployment_id = $1 ORDER BY d.release_id, d.source_hash";
const DIFFS_OF_NEWEST: &str = "SELECT f.release_id, f.source_hash, f.blob_sha256, f.size FROM release_diffs f JOIN releases r ON r.id = f.release_id \
    WHERE r.deployment_id IN (SELECT id FROM deployments WHERE app_id = $1) \
    AND r.label = (SELECT MAX(n.label) FROM releases n WHERE n.deployment_id = r.deployment_id) ORDER BY f.release_id, f.source_hash";
const DIFFS_OF: &str = "SELECT release_id, source_hash, blob_sha256, size FROM release_diffs WHERE release_id = $1 ORDER BY source_hash";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    INSERT,
    UPDATE,
    DELETE_ALL,
    HISTORY,
    NEWEST,
    NEWEST_OF_APP,
    NEWEST_OF,
    NEWEST_ENABLED_OF,
    LABELED,
    NEWEST_ENABLED,
    BEFORE,
    FIND,
    LIST_UP,
    LIST_DOWN,
    RANGES,
    DIFFS,
    DIFFS_OF_NEWEST,
    DIFFS_OF,
];

/// A stored release. Also stored as JSON, as the answer to a request with an idempotency key: give new members a default there.
#[derive(Clone, Debug, sqlx::FromRow, Serialize, Deserialize)]
pub struct ReleaseRow {
    /// Its id.
    pub id: ReleaseId,
    /// The number of its label.
    pub label: i64,
    /// The app binary versions that it targets, as given.
    pub app_version: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether the update is mandatory.
    pub is_mandatory: bool,
    /// Whether it is disabled: offered to no device.
    pub is_disabled: bool,
    /// 1-99 for a staged rollout.
    pub rollout: Option<i64>,
    /// The hash of its contents.
    pub package_hash: Sha256Hex,
    /// The bundle.
    pub blob_sha256: Sha256Hex,
    /// The file manifest; a single-file package has none.
    pub manifest_sha256: Option<Sha256Hex>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// How it was created.
    pub release_method: ReleaseMethod,
    /// The label of the release it was created from.
    pub original_label: Option<i64>,
    /// The deployment it was promoted from.
    pub original_deployment: Option<String>,
    /// The email address of the account that created it.
    pub released_by: String,
    /// When it was created.
    pub upload_time: UnixMillis,
}

/// A deployment's newest release, or its newest enabled one.
#[derive(Debug, sqlx::FromRow)]
pub struct NewestRow {
    /// The deployment.
    pub deployment_id: DeploymentId,
    /// The release.
    #[sqlx(flatten)]
    pub release: ReleaseRow,
}

/// A release found by its label.
#[derive(Debug, sqlx::FromRow)]
pub struct LabeledRow {
    /// Its app.
    pub app_id: AppId,
    /// Its deployment's name.
    pub deployment: String,
    /// The number of its label.
    pub label: i64,
    /// The app binary versions that it targets, as given.
    pub app_version: String,
    /// The email address of the account that created it.
    pub released_by: String,
    /// When it was created.
    pub upload_time: UnixMillis,
}

/// A release to store.
#[derive(Debug)]
pub struct NewReleaseRow<'a> {
    /// Its deployment.
    pub deployment: &'a DeploymentId,
    /// Its app.
    pub app: &'a AppId,
    /// The row.
    pub row: &'a ReleaseRow,
}

/// What the rules for a new release need, and what decides which release a device gets.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct RangeRow {
    /// The number of its label.
    pub label: i64,
    /// The app binary versions that it targets.
    pub app_version: String,
    /// The hash of its contents.
    pub package_hash: Sha256Hex,
    /// Whether it is disabled: offered to no device.
    pub is_disabled: bool,
    /// 1-99 for a staged rollout.
    pub rollout: Option<i64>,
}

/// A diff to a release.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DiffRow {
    /// The release it leads to.
    pub release_id: ReleaseId,
    /// The hash of the package it applies to.
    pub source_hash: Sha256Hex,
    /// The diff's blob.
    pub blob_sha256: Sha256Hex,
    /// The diff's size in bytes.
    pub size: i64,
}

/// The filter of the list; `None` matches all.
#[derive(Debug, Default)]
pub struct ListFilter {
    /// Oldest first instead of newest first.
    pub is_ascending: bool,
    /// The app binary versions that they target, as given.
    pub app_version: Option<String>,
    /// How they were created.
    pub release_method: Option<ReleaseMethod>,
    /// Whether they are disabled.
    pub is_disabled: Option<bool>,
    /// Whether they are mandatory.
    pub is_mandatory: Option<bool>,
}

/// Stores a release.
pub async fn insert(tx: &mut WriteTx, new: &NewReleaseRow<'_>) -> sqlx::Result<u64> {
    let row = new.row;
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(&row.id)
        .bind(new.deployment)
        .bind(new.app)
        .bind(row.label)
        .bind(&row.app_version)
        .bind(&row.description)
        .bind(row.is_mandatory)
        .bind(row.is_disabled)
        .bind(row.rollout)
        .bind(&row.package_hash)
        .bind(&row.blob_sha256)
        .bind(&row.manifest_sha256)
        .bind(row.size)
        .bind(row.release_method.as_str())
        .bind(row.original_label)
        .bind(&row.original_deployment)
        .bind(&row.released_by)
        .bind(row.upload_time)
        .bind(description_bytes(row))
        .execute(conn)
        .await)
}

/// Stores the mutable columns of a release.
pub async fn update(tx: &mut WriteTx, row: &ReleaseRow) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(UPDATE)
        .bind(&row.id)
        .bind(&row.app_version)
        .bind(&row.description)
        .bind(row.is_mandatory)
        .bind(row.is_disabled)
        .bind(row.rollout)
        .bind(&row.package_hash)
        .bind(description_bytes(row))
        .execute(conn)
        .await)
}

/// Deletes all releases of a deployment.
pub async fn delete_all(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_ALL).bind(deployment).execute(conn).await)
}

/// Every release of the deployment, oldest first.
pub async fn history(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(HISTORY).bind(deployment).fetch_all(conn).await)
}

/// The newest release of the deployment.
pub async fn newest(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(NEWEST).bind(deployment).fetch_optional(conn).await)
}

/// The newest release of each of the app's deployments that has one.
pub async fn newest_of_app(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<NewestRow>> {
    on!(tx, |conn| sqlx::query_as(NEWEST_OF_APP).bind(app).fetch_all(conn).await)
}

/// The newest release of each of these deployments that has one.
pub async fn newest_of(tx: &mut ReadTx, deployments: &[&DeploymentId]) -> sqlx::Result<Vec<NewestRow>> {
    rows_of(tx, NEWEST_OF, deployments).await
}

/// The newest release that is not disabled, of each of these deployments that has one.
pub async fn newest_enabled_of(tx: &mut ReadTx, deployments: &[&DeploymentId]) -> sqlx::Result<Vec<NewestRow>> {
    rows_of(tx, NEWEST_ENABLED_OF, deployments).await
}

async fn rows_of(tx: &mut ReadTx, statement: &'static str, deployments: &[&DeploymentId]) -> sqlx::Result<Vec<NewestRow>> {
    if deployments.is_empty() {
        return Ok(Vec::new());
    }
    let sql = tx.listed(statement, deployments.len());
    on!(tx, |conn| {
        let query = deployments.iter().fold(sqlx::query_as(sql).persistent(false), |query, deployment| query.bind(*deployment));
        query.fetch_all(conn).await
    })
}

/// At most `count` releases with this label in all apps that the account has access to, newest first, those in apps that it has not accepted after
/// all others.
pub async fn labeled(tx: &mut ReadTx, account: &AccountId, label: Label, count: i64) -> sqlx::Result<Vec<LabeledRow>> {
    let label = i64::from(label.number());
    on!(tx, |conn| sqlx::query_as(LABELED).bind(account).bind(label).bind(count).fetch_all(conn).await)
}

/// All diffs to the app's newest releases.
pub async fn diffs_of_newest(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DiffRow>> {
    on!(tx, |conn| sqlx::query_as(DIFFS_OF_NEWEST).bind(app).fetch_all(conn).await)
}

/// The newest release of the deployment that is not disabled.
pub async fn newest_enabled(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(NEWEST_ENABLED).bind(deployment).fetch_optional(conn).await)
}

/// The newest release that is older than the one with this label.
pub async fn before(tx: &mut ReadTx, deployment: &DeploymentId, label: i64) -> sqlx::Result<Option<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(BEFORE).bind(deployment).bind(label).fetch_optional(conn).await)
}

/// The release with this label.
pub async fn find(tx: &mut ReadTx, deployment: &DeploymentId, label: Label) -> sqlx::Result<Option<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(deployment).bind(i64::from(label.number())).fetch_optional(conn).await)
}

/// At most `count` releases that follow the label with the number `after` in the filter's order.
pub async fn list(
    tx: &mut ReadTx,
    deployment: &DeploymentId,
    filter: &ListFilter,
    after: i64,
    count: i64,
) -> sqlx::Result<Vec<ReleaseRow>> {
    on!(tx, |conn| sqlx::query_as(if filter.is_ascending { LIST_UP } else { LIST_DOWN })
        .bind(deployment)
        .bind(after)
        .bind(&filter.app_version)
        .bind(filter.release_method.map(ReleaseMethod::as_str))
        .bind(filter.is_disabled)
        .bind(filter.is_mandatory)
        .bind(count)
        .fetch_all(conn)
        .await)
}

/// What the rules for a new release need, newest first.
pub async fn ranges(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<RangeRow>> {
    on!(tx, |conn| sqlx::query_as(RANGES).bind(deployment).fetch_all(conn).await)
}

/// All diffs to releases of the deployment.
pub async fn diffs(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Vec<DiffRow>> {
    on!(tx, |conn| sqlx::query_as(DIFFS).bind(deployment).fetch_all(conn).await)
}

/// All diffs to one release.
pub async fn diffs_of(tx: &mut ReadTx, release: &ReleaseId) -> sqlx::Result<Vec<DiffRow>> {
    on!(tx, |conn| sqlx::query_as(DIFFS_OF).bind(release).fetch_all(conn).await)
}
