//! SQL of deployments and deployment keys.

use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::text::spellings;
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const LIST: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 ORDER BY name";
const OF_APPS: &str = "SELECT id, app_id, name FROM deployments WHERE app_id IN ([?])";
const FIND: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 AND name = $2";
const INSERT: &str = "INSERT INTO deployments (id, app_id, name, deployment_key, last_label, counting_epoch, created_time, key_since, \
    snapshot_bytes) VALUES ($1, $2, $3, $4, 0, 0, $5, $6, 0)";
const FIND_KEY: &str = "SELECT account_id, deployment_id, snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const INSERT_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, $2, $3, $4, $4, 0)";
const REUSE_KEY: &str = "UPDATE deployment_keys SET app_id = $2, deployment_id = $3, last_deployment_id = $3 \
    WHERE deployment_key = $1 AND account_id = $4 AND deployment_id IS NULL AND (app_id = $2 OR account_id = $5)";
const KEYS: &str = "SELECT deployment_key FROM deployment_keys WHERE app_id = $1";
// The app stays set on the key of a deleted deployment, for its tombstone. So the app alone does not tell whose the key is.
const GIVE_KEY: &str = "UPDATE deployment_keys SET account_id = $2 WHERE deployment_key = $1 AND app_id = $3 AND account_id = $4";
const BURY_KEY: &str = "UPDATE deployment_keys SET deployment_id = NULL WHERE deployment_key = $1";
// A key that the operator released belongs to nobody: its account is the empty string.
const FREE_KEY: &str = "UPDATE deployment_keys SET deployment_id = NULL, account_id = '' WHERE deployment_key = $1";
const INSERT_FREE_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, '', '', NULL, '', 0)";
const TAKE_FREE_KEY: &str = "UPDATE deployment_keys SET account_id = $2, app_id = $3, deployment_id = $4, last_deployment_id = $4 \
    WHERE deployment_key = $1 AND account_id = '' AND deployment_id IS NULL";
const SET_KEY: &str = "UPDATE deployments SET deployment_key = $2, key_since = $3 WHERE id = $1";
const APP_OF: &str = "SELECT app_id, name FROM deployments WHERE id = $1";
const IDS: &str = "SELECT id FROM deployments WHERE app_id = $1";
const LOCK: &str = "SELECT id, deployment_key, last_label, counting_epoch FROM deployments WHERE id = $1 FOR NO KEY UPDATE";
const LOCK_NAMED: &str =
    "SELECT id, deployment_key, last_label, counting_epoch FROM deployments WHERE app_id = $1 AND name = $2 FOR NO KEY UPDATE";
const RAISE_LAST_LABEL: &str = "UPDATE deployments SET last_label = $2 WHERE id = $1 AND last_label < $2";
const LAST_LABEL: &str = "SELECT last_label FROM deployments WHERE id = $1";
const NEXT_LABEL: &str = "UPDATE deployments SET last_label = last_label + 1 WHERE app_id = $1 AND name = $2 \
    RETURNING id, deployment_key, last_label, counting_epoch";
const NOTE_SIZE: &str = "UPDATE deployments SET snapshot_bytes = $2 WHERE id = $1";
const RENAME: &str = "UPDATE deployments SET name = $2 WHERE id = $1";
const DELETE: &str = "DELETE FROM deployments WHERE id = $1";
// Counters of the previous epoch count as absent from now on. There can be many, so they are not deleted here but later, in steps.
const RAISE_EPOCH: &str = "UPDATE deployments SET counting_epoch = counting_epoch + 1, snapshot_bytes = 0 WHERE id = $1";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[
    LIST,
    OF_APPS,
    FIND,
    INSERT,
    FIND_KEY,
    INSERT_KEY,
    REUSE_KEY,
    KEYS,
    GIVE_KEY,
    BURY_KEY,
    FREE_KEY,
    INSERT_FREE_KEY,
    TAKE_FREE_KEY,
    SET_KEY,
    APP_OF,
    IDS,
    LOCK,
    LOCK_NAMED,
    NEXT_LABEL,
    RAISE_LAST_LABEL,
    LAST_LABEL,
    NOTE_SIZE,
    RENAME,
    DELETE,
    RAISE_EPOCH,
];

/// A deployment.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeploymentRow {
    /// Its ID.
    pub id: DeploymentId,
    /// Its app.
    pub app_id: AppId,
    /// Its name.
    pub name: String,
    /// Its key.
    pub deployment_key: DeploymentKey,
    /// Its counting epoch; counters of an older epoch count as absent.
    pub counting_epoch: i64,
    /// When it was created.
    pub created_time: UnixMillis,
}

/// A deployment that is locked until the transaction ends.
#[derive(Debug, sqlx::FromRow)]
pub struct LockedRow {
    /// Its ID.
    pub id: DeploymentId,
    /// Its key.
    pub deployment_key: DeploymentKey,
    /// The number of the last label assigned.
    pub last_label: i64,
    /// Its counting epoch.
    pub counting_epoch: i64,
}

/// A deployment key that is or was in use.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// The only account that may use it again: the owner of the app that had it last.
    pub account_id: AccountId,
    /// The deployment that has it now.
    pub deployment_id: Option<DeploymentId>,
    /// The version of its newest snapshot.
    pub snapshot_version: i64,
}

/// The app's deployments, sorted by name.
pub async fn list(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DeploymentRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(app).fetch_all(conn).await)
}

/// The deployments of these apps, unordered: their IDs, apps and names.
pub async fn of_apps(tx: &mut ReadTx, apps: &[&AppId]) -> sqlx::Result<Vec<(DeploymentId, AppId, String)>> {
    if apps.is_empty() {
        return Ok(Vec::new());
    }
    let sql = tx.listed(OF_APPS, apps.len());
    on!(tx, |conn| {
        let query = apps.iter().fold(sqlx::query_as(sql).persistent(false), |query, app| query.bind(*app));
        query.fetch_all(conn).await
    })
}

/// One deployment of the app.
pub async fn find(tx: &mut ReadTx, app: &AppId, name: &str) -> sqlx::Result<Option<DeploymentRow>> {
    for name in spellings(name) {
        let found = on!(tx, |conn| sqlx::query_as(FIND).bind(app).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Inserts a deployment. `key_since` is when it took its key over from another deployment, 0 if none had it: earlier reports belong to the other one.
pub async fn insert(tx: &mut WriteTx, row: &DeploymentRow, key_since: UnixMillis) -> sqlx::Result<u64> {
    let DeploymentRow { id, app_id, name, deployment_key, created_time, .. } = row;
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(id)
        .bind(app_id)
        .bind(name.as_str())
        .bind(deployment_key.as_str())
        .bind(*created_time)
        .bind(key_since)
        .execute(conn)
        .await)
}

/// A key that is or was in use.
pub async fn find_key(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_KEY).bind(key.as_str()).fetch_optional(conn).await)
}

/// Inserts a key that was never in use.
pub async fn insert_key(
    tx: &mut WriteTx,
    key: &DeploymentKey,
    account: &AccountId,
    app: &AppId,
    deployment: &DeploymentId,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_KEY).bind(key.as_str()).bind(account).bind(app).bind(deployment).execute(conn).await)
}

/// Puts a key of the account back into use; 0 rows when a deployment has it, or it now belongs to another account.
pub async fn reuse_key(
    tx: &mut WriteTx,
    key: &DeploymentKey,
    account: &AccountId,
    app: &AppId,
    deployment: &DeploymentId,
    by: &AccountId,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REUSE_KEY).bind(key.as_str()).bind(app).bind(deployment).bind(account).bind(by).execute(conn).await)
}

/// The keys that the app had last, unordered: those of its deployments and of its deleted deployments.
pub async fn keys(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DeploymentKey>> {
    on!(tx, |conn| sqlx::query_scalar(KEYS).bind(app).fetch_all(conn).await)
}

/// Moves a key from the account `from` to another account; 0 rows when the key is not that account's.
pub async fn give_key(tx: &mut WriteTx, key: &DeploymentKey, app: &AppId, from: &AccountId, to: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(GIVE_KEY).bind(key.as_str()).bind(to).bind(app).bind(from).execute(conn).await)
}

/// Takes a key out of use: devices that present it get a tombstone.
pub async fn retire_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(BURY_KEY).bind(key.as_str()).execute(conn).await)
}

/// Releases a key, so that it belongs to nobody; 0 rows when it was never in use.
pub async fn free_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FREE_KEY).bind(key.as_str()).execute(conn).await)
}

/// Inserts a key that belongs to nobody.
pub async fn insert_free_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_FREE_KEY).bind(key.as_str()).execute(conn).await)
}

/// Assigns a key that belongs to nobody; 0 rows when it belongs to someone.
pub async fn take_free_key(
    tx: &mut WriteTx,
    key: &DeploymentKey,
    account: &AccountId,
    app: &AppId,
    deployment: &DeploymentId,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TAKE_FREE_KEY).bind(key.as_str()).bind(account).bind(app).bind(deployment).execute(conn).await)
}

/// Changes a deployment's key. Reports for the key from before `since` belong to another deployment; 0 when it belonged to nobody.
pub async fn set_key(tx: &mut WriteTx, deployment: &DeploymentId, key: &DeploymentKey, since: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_KEY).bind(deployment).bind(key.as_str()).bind(since).execute(conn).await)
}

/// A deployment's app and name.
pub async fn app_of(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<(AppId, String)>> {
    on!(tx, |conn| sqlx::query_as(APP_OF).bind(deployment).fetch_optional(conn).await)
}

/// The app's deployments, unordered.
pub async fn ids(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DeploymentId>> {
    on!(tx, |conn| sqlx::query_scalar(IDS).bind(app).fetch_all(conn).await)
}

/// Locks a deployment until the transaction ends. Changes of its releases wait for this lock, and so do batches of reports that need it and other
/// replicas' jobs.
pub async fn lock(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<Option<LockedRow>> {
    let lock = tx.locking(LOCK);
    on!(tx, |conn| sqlx::query_as(lock).bind(deployment).fetch_optional(conn).await)
}

/// Assigns the next label. Every change to a deployment's releases starts with this statement or [`lock_named`]: it serializes concurrent changes on both
/// databases, so the rules check the state that will change.
pub async fn next_label(tx: &mut WriteTx, app: &AppId, deployment: &str) -> sqlx::Result<Option<LockedRow>> {
    lock_by(NEXT_LABEL, tx, app, deployment).await
}

/// Locks the deployment for a change that creates no release.
pub async fn lock_named(tx: &mut WriteTx, app: &AppId, deployment: &str) -> sqlx::Result<Option<LockedRow>> {
    lock_by(tx.locking(LOCK_NAMED), tx, app, deployment).await
}

async fn lock_by(sql: &'static str, tx: &mut WriteTx, app: &AppId, deployment: &str) -> sqlx::Result<Option<LockedRow>> {
    for name in spellings(deployment) {
        let found = on!(tx, |conn| sqlx::query_as(sql).bind(app).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Stores the size of the snapshot of a locked deployment, in bytes.
pub async fn note_size(tx: &mut WriteTx, deployment: &DeploymentId, bytes: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(NOTE_SIZE).bind(deployment).bind(bytes).execute(conn).await)
}

/// Renames a deployment.
pub async fn rename(tx: &mut WriteTx, deployment: &DeploymentId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(deployment).bind(name).execute(conn).await)
}

/// Deletes a deployment with its releases. Blobs and counters stay.
pub async fn delete(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(deployment).execute(conn).await)
}

/// Resets a deployment's counts, and the size of its snapshot. Label numbers continue.
pub async fn raise_epoch(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RAISE_EPOCH).bind(deployment).execute(conn).await)
}

/// The newest label that a deployment ever had; 0 without releases.
pub async fn last_label(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(LAST_LABEL).bind(deployment).fetch_optional(conn).await)
}

/// Makes sure that the labels that follow are new. The deployment must be locked.
pub async fn raise_last_label(tx: &mut WriteTx, deployment: &DeploymentId, label: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RAISE_LAST_LABEL).bind(deployment).bind(label).execute(conn).await)
}
