//! SQL of deployments and of deployment keys.

use shared::ids::{AccountId, AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const LIST: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 ORDER BY name";
const FIND: &str = "SELECT id, app_id, name, deployment_key, counting_epoch, created_time FROM deployments WHERE app_id = $1 AND name = $2";
const INSERT: &str = "INSERT INTO deployments (id, app_id, name, deployment_key, last_label, counting_epoch, created_time) \
    VALUES ($1, $2, $3, $4, 0, 0, $5)";
const FIND_KEY: &str = "SELECT account_id, deployment_id, snapshot_version FROM deployment_keys WHERE deployment_key = $1";
const INSERT_KEY: &str = "INSERT INTO deployment_keys (deployment_key, account_id, app_id, deployment_id, last_deployment_id, snapshot_version) \
    VALUES ($1, $2, $3, $4, $4, 0)";
const REUSE_KEY: &str = "UPDATE deployment_keys SET app_id = $2, deployment_id = $3, last_deployment_id = $3 \
    WHERE deployment_key = $1 AND deployment_id IS NULL";

/// Every statement of this file.
pub const SQL: &[&str] = &[LIST, FIND, INSERT, FIND_KEY, INSERT_KEY, REUSE_KEY];

/// A deployment.
#[derive(Debug, sqlx::FromRow)]
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
    /// Whose key it is for ever.
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
    on!(tx, |conn| sqlx::query_as(FIND).bind(app).bind(name).fetch_optional(conn).await)
}

/// Stores a deployment.
pub async fn insert(
    tx: &mut WriteTx,
    id: &DeploymentId,
    app: &AppId,
    name: &str,
    key: &DeploymentKey,
    now: UnixMillis,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(id).bind(app).bind(name).bind(key.as_str()).bind(now).execute(conn).await)
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

/// Puts a key back into use; 0 rows when a deployment has it.
pub async fn reuse_key(tx: &mut WriteTx, key: &DeploymentKey, app: &AppId, deployment: &DeploymentId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REUSE_KEY).bind(key.as_str()).bind(app).bind(deployment).execute(conn).await)
}
