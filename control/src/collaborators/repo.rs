//! SQL of collaborators.
//!
//! `access_time` is when the account came to reach the app under its name. It orders what a bare name means, the earliest first, so a new one is later
//! than every other of the account, whatever the clock says.

use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use crate::accounts::email::former;
use crate::auth::Role;
use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO collaborators (app_id, account_id, permission, access_time) \
    SELECT $1, $2, $3, CASE WHEN MAX(access_time) >= $4 THEN MAX(access_time) + 1 ELSE $4 END FROM collaborators WHERE account_id = $2";
const LIST: &str = "SELECT c.account_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 ORDER BY c.account_id";
const FIND: &str = "SELECT c.account_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 AND a.email IN ($2, $3) ORDER BY CASE WHEN a.email = $2 THEN 0 ELSE 1 END LIMIT 1";
const SET_ROLE: &str = "UPDATE collaborators SET permission = $3 WHERE app_id = $1 AND account_id = $2";
// Each account has one row of the app, so that no row is read that this changes but its own.
const RENEW_ACCESS: &str = "UPDATE collaborators SET access_time = (SELECT CASE WHEN MAX(o.access_time) >= $2 THEN MAX(o.access_time) + 1 \
    ELSE $2 END FROM collaborators o WHERE o.account_id = collaborators.account_id) WHERE app_id = $1";
const DELETE: &str = "DELETE FROM collaborators WHERE app_id = $1 AND account_id = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, LIST, FIND, SET_ROLE, RENEW_ACCESS, DELETE];

/// A collaborator of an app.
#[derive(Debug, sqlx::FromRow)]
pub struct CollaboratorRow {
    /// The account.
    pub account_id: AccountId,
    /// Its e-mail address.
    pub email: String,
    /// Its role.
    pub permission: String,
}

/// Gives an account access. The account must be locked, so that of two accesses that it gets at once one is the earlier.
pub async fn insert(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(account).bind(role.as_str()).bind(now).execute(conn).await)
}

/// The app's collaborators, by account.
pub async fn list(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<CollaboratorRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(app).fetch_all(conn).await)
}

/// The app's collaborator with this address.
pub async fn find(tx: &mut ReadTx, app: &AppId, email: &str) -> sqlx::Result<Option<CollaboratorRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(app).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// Changes a role; 0 rows when the account has no access.
pub async fn set_role(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_ROLE).bind(app).bind(account).bind(role.as_str()).execute(conn).await)
}

/// Makes the app the one that each of its collaborators reached last: what its new name means to them already goes on meaning that. The accounts must
/// be locked.
pub async fn renew_access(tx: &mut WriteTx, app: &AppId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENEW_ACCESS).bind(app).bind(now).execute(conn).await)
}

/// Takes an account's access away.
pub async fn delete(tx: &mut WriteTx, app: &AppId, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(app).bind(account).execute(conn).await)
}
