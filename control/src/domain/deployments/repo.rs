//! SQL of deployments and of deployment keys.

use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::text::spellings;
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const LIST: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 ORDER BY name";
const FIND: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 AND name = $2";
const INSERT: &str = "INSERT INTO deployments (id, app_id, name, deployment_key, last_label, counting_epoch, created_time, key_since, \
    snapshot_bytes) VALUES ($1, $2, $3, $4, 0, 0, $5, $6, 0)";
const FIND_KEY: &str = "SELECT account_id, deployment_id, snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const INSERT_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, $2, $3, $4, $4, 0)";
const REUSE_KEY: &str = "UPDATE deployment_keys SET app_id = $2, deployment_id = $3, last_deployment_id = $3 \
    WHERE deployment_key = $1 AND account_id = $4 AND deployment_id IS NULL AND (app_id = $2 OR account_id = $5)";
const KEYS: &str = "SELECT deployment_key FROM deployment_keys WHERE app_id = $1";
// Keeps the app of a key that was freed, for its tombstone: so the app alone does not say whose the key is.
const GIVE_KEY: &str = "UPDATE deployment_keys SET account_id = $2 WHERE deployment_key = $1 AND app_id = $3 AND account_id = $4";
const BURY_KEY: &str = "UPDATE deployment_keys SET deployment_id = NULL WHERE deployment_key = $1";
// A key that the operator has freed is nobody's: its account is empty text.
const FREE_KEY: &str = "UPDATE deployment_keys SET deployment_id = NULL, account_id = '' WHERE deployment_key = $1";
const INSERT_FREE_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, '', '', NULL, '', 0)";
const TAKE_FREE_KEY: &str = "UPDATE deployment_keys SET account_id = $2, app_id = $3, deployment_id = $4, last_deployment_id = $4 \
    WHERE deployment_key = $1 AND account_id = '' AND deployment_id IS NULL";
const SET_KEY: &str = "UPDATE deployments SET deployment_key = $2, key_since = $3 WHERE id = $1";
const APP_OF: &str = "SELECT app_id, name FROM deployments WHERE id = $1";
const IDS: &str = "SELECT id FROM deployments WHERE app_id = $1";
const LOCK: &str = "SELECT deployment_key FROM deployments WHERE id = $1 FOR NO KEY UPDATE";
const RENAME: &str = "UPDATE deployments SET name = $2 WHERE id = $1";
const DELETE: &str = "DELETE FROM deployments WHERE id = $1";
// Counters of the epoch before count as absent from then on. They are not deleted here: there can be many, and they go in steps.
const RAISE_EPOCH: &str = "UPDATE deployments SET counting_epoch = counting_epoch + 1, snapshot_bytes = 0 WHERE id = $1";
const DELETE_RELEASES: &str = "DELETE FROM releases WHERE deployment_id = $1";
const LET_GO: &str = "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $3 THEN last_used_time + 1 ELSE $3 END \
    WHERE app_id = $1 AND sha256 IN (SELECT blob_sha256 FROM releases WHERE deployment_id = $2 \
    UNION SELECT manifest_sha256 FROM releases WHERE deployment_id = $2 AND manifest_sha256 IS NOT NULL \
    UNION SELECT d.blob_sha256 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.deployment_id = $2)";
const LET_GO_ALL: &str =
    "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $2 THEN last_used_time + 1 ELSE $2 END WHERE app_id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    LIST,
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
    RENAME,
    DELETE,
    RAISE_EPOCH,
    DELETE_RELEASES,
    LET_GO,
    LET_GO_ALL,
];

/// A deployment.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeploymentRow {
    /// Its id.
    pub id: DeploymentId,
    /// Its app.
    pub app_id: AppId,
    /// Its name.
    pub name: String,
    /// Its key.
    pub deployment_key: String,
    /// Counters of an older epoch count as absent.
    pub counting_epoch: i64,
    /// When it was made.
    pub created_time: UnixMillis,
}

/// A deployment key that is or was in use.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// Who alone may use it again: the owner of the app that had it last.
    pub account_id: AccountId,
    /// The deployment it serves now.
    pub deployment_id: Option<DeploymentId>,
    /// The version of its newest snapshot.
    pub snapshot_version: i64,
}

/// The app's deployments by name.
pub async fn list(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DeploymentRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(app).fetch_all(conn).await)
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

/// Stores a deployment. `key_since` is when it took its key over from another, 0 when none had it: reports from before are the other one's.
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

/// Stores a key that was never in use.
pub async fn insert_key(
    tx: &mut WriteTx,
    key: &DeploymentKey,
    account: &AccountId,
    app: &AppId,
    deployment: &DeploymentId,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_KEY).bind(key.as_str()).bind(account).bind(app).bind(deployment).execute(conn).await)
}

/// Puts a key of the account back into use; 0 rows when a deployment has it, or it is another's by now.
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

/// The keys that the app had last, in no order: those of its deployments, and those of deployments that it had.
pub async fn keys(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(KEYS).bind(app).fetch_all(conn).await)
}

/// Makes a key of the account `from` another account's; 0 rows when it is nobody's, or somebody else's.
pub async fn give_key(tx: &mut WriteTx, key: &str, app: &AppId, from: &AccountId, to: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(GIVE_KEY).bind(key).bind(to).bind(app).bind(from).execute(conn).await)
}

/// Takes a key out of use: it serves a tombstone.
pub async fn bury_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(BURY_KEY).bind(key.as_str()).execute(conn).await)
}

/// Makes a key nobody's; 0 rows when it never was anybody's.
pub async fn free_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FREE_KEY).bind(key.as_str()).execute(conn).await)
}

/// Stores a key that is nobody's.
pub async fn insert_free_key(tx: &mut WriteTx, key: &DeploymentKey) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT_FREE_KEY).bind(key.as_str()).execute(conn).await)
}

/// Puts a key that is nobody's into use; 0 rows when it is somebody's.
pub async fn take_free_key(
    tx: &mut WriteTx,
    key: &DeploymentKey,
    account: &AccountId,
    app: &AppId,
    deployment: &DeploymentId,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TAKE_FREE_KEY).bind(key.as_str()).bind(account).bind(app).bind(deployment).execute(conn).await)
}

/// Gives a deployment another key. `since`: reports of the key from before that time are another deployment's; 0 when it was nobody's.
pub async fn set_key(tx: &mut WriteTx, deployment: &DeploymentId, key: &DeploymentKey, since: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_KEY).bind(deployment).bind(key.as_str()).bind(since).execute(conn).await)
}

/// A deployment's app, and its name there.
pub async fn app_of(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<(AppId, String)>> {
    on!(tx, |conn| sqlx::query_as(APP_OF).bind(deployment).fetch_optional(conn).await)
}

/// The app's deployments, in no order.
pub async fn ids(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<DeploymentId>> {
    on!(tx, |conn| sqlx::query_scalar(IDS).bind(app).fetch_all(conn).await)
}

/// Locks a deployment until the transaction ends, and gives its key.
pub async fn lock(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<Option<DeploymentKey>> {
    let lock = tx.locking(LOCK);
    on!(tx, |conn| sqlx::query_scalar(lock).bind(deployment).fetch_optional(conn).await)
}

/// Gives a deployment another name.
pub async fn rename(tx: &mut WriteTx, deployment: &DeploymentId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(deployment).bind(name).execute(conn).await)
}

/// Removes a deployment with its releases. Blobs and counters stay.
pub async fn delete(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(deployment).execute(conn).await)
}

/// Removes a deployment's releases, and lets its counts begin anew. Label numbers go on.
pub async fn clear(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(RAISE_EPOCH).bind(deployment).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(DELETE_RELEASES).bind(deployment).execute(conn).await)?;
    Ok(())
}

/// Notes that the blobs of a deployment's releases are used for the last time now: they are kept for a while after that. All deployments of the app
/// must be locked, so that nobody else has locked several of its blobs.
pub async fn let_go(tx: &mut WriteTx, app: &AppId, deployment: &DeploymentId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(LET_GO).bind(app).bind(deployment).bind(now).execute(conn).await)
}

/// [`let_go`] for all blobs of an app.
pub async fn let_go_all(tx: &mut WriteTx, app: &AppId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(LET_GO_ALL).bind(app).bind(now).execute(conn).await)
}
