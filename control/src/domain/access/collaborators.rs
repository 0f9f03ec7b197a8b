//! SQL of collaborators.
//!
//! `accepted_time` is when the account accepted the app. It decides what a bare name means: the earliest comes first. A new value is always later than the
//! account's others, whatever the clock says. `access_time` is when the account got access; the previous release orders by it in the same way.
//! An Owner whose namespace does not hold the app is the receiver of a transfer that is not accepted yet.

use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use crate::domain::access::Role;
use crate::domain::email::former;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO collaborators (app_id, account_id, permission, access_time, is_received) \
    SELECT $1, $2, $3, CASE WHEN MAX(access_time) >= $4 THEN MAX(access_time) + 1 ELSE $4 END, $5 FROM collaborators WHERE account_id = $2";
const LIST: &str = "SELECT c.account_id, a.email, c.permission, c.accepted_time FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 ORDER BY c.account_id";
const FIND: &str = "SELECT c.account_id, a.email, c.permission, c.accepted_time FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 AND a.email IN ($2, $3) ORDER BY CASE WHEN a.email = $2 THEN 0 ELSE 1 END LIMIT 1";
const SET_ROLE: &str = "UPDATE collaborators SET permission = $3 WHERE app_id = $1 AND account_id = $2";
// The role may become Owner while this waits: deleting the receiver's account declines a transfer without locking the app.
const CHANGE_ROLE: &str = "UPDATE collaborators SET permission = $3 WHERE app_id = $1 AND account_id = $2 AND permission <> 'Owner'";
const ACCEPT: &str = "UPDATE collaborators SET accepted_time = (SELECT CASE WHEN MAX(o.accepted_time) >= $3 THEN MAX(o.accepted_time) + 1 \
    ELSE $3 END FROM collaborators o WHERE o.account_id = $2), is_received = FALSE \
    WHERE app_id = $1 AND account_id = $2 AND accepted_time IS NULL";
const ACCEPT_FIRST: &str = "UPDATE collaborators SET accepted_time = (SELECT COALESCE(MIN(o.accepted_time) - 1, $3) \
    FROM collaborators o WHERE o.account_id = $2), is_received = FALSE WHERE app_id = $1 AND account_id = $2";
const OUTGOING: &str = "SELECT COUNT(*) FROM apps a JOIN collaborators c ON c.app_id = a.id \
    WHERE a.owner_id = $1 AND c.account_id <> $1 AND c.permission = 'Owner'";
const INCOMING: &str = "SELECT a.id, a.name, a.owner_id AS namespace_id, o.email AS owner_email, c.permission, c.accepted_time \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND c.permission = 'Owner' AND a.owner_id <> $1 ORDER BY a.owner_id, a.id";
const SHARED: &str = "SELECT a.id, a.name, a.owner_id AS namespace_id, o.email AS owner_email, c.permission, c.accepted_time \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND a.owner_id <> $1 \
    ORDER BY CASE WHEN c.accepted_time IS NULL OR c.permission = 'Owner' THEN 0 ELSE 1 END, a.name, a.id LIMIT $2";
const FIND_SHARED: &str = "SELECT a.id, a.name, a.owner_id AS namespace_id, o.email AS owner_email, c.permission, c.accepted_time \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND a.owner_id <> $1 AND a.id = $2";
const DELETE: &str = "DELETE FROM collaborators WHERE app_id = $1 AND account_id = $2";

/// Every SQL statement in this file.
pub const SQL: &[&str] =
    &[INSERT, LIST, FIND, SET_ROLE, CHANGE_ROLE, ACCEPT, ACCEPT_FIRST, OUTGOING, INCOMING, SHARED, FIND_SHARED, DELETE];

/// A collaborator of an app.
#[derive(Debug, sqlx::FromRow)]
pub struct CollaboratorRow {
    /// The account.
    pub account_id: AccountId,
    /// Its email address.
    pub email: String,
    /// Its role.
    pub permission: Role,
    /// When it accepted the app; an owner has nothing to accept.
    pub accepted_time: Option<UnixMillis>,
}

/// Another account's app that an account has access to.
#[derive(Debug, sqlx::FromRow)]
pub struct SharedRow {
    /// The app.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// The account whose namespace holds it.
    pub namespace_id: AccountId,
    /// That account's email.
    pub owner_email: String,
    /// The role of the account that has access.
    pub permission: Role,
    /// When that account accepted it.
    pub accepted_time: Option<UnixMillis>,
}

impl SharedRow {
    /// Whether it was transferred to the account, which has not accepted it yet.
    pub fn is_transfer(&self) -> bool {
        self.permission == Role::Owner
    }

    /// Whether the account still has something to accept.
    pub fn is_waiting(&self) -> bool {
        self.accepted_time.is_none() || self.is_transfer()
    }

    /// The name that refers to it for everyone with access.
    pub fn long_name(&self) -> String {
        format!("{}:{}", self.owner_email, self.name)
    }
}

/// Gives an account access to an app that it has not accepted yet. The account must be locked, so that concurrent grants get distinct access times.
pub async fn insert(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(account).bind(role.as_str()).bind(now).bind(false).execute(conn).await)
}

/// Gives access to the receiver of a transfer. No bare name refers to the app until the receiver accepts it.
pub async fn receive(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    let owner = Role::Owner.as_str();
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(account).bind(owner).bind(now).bind(true).execute(conn).await)
}

/// The app's collaborators, sorted by account.
pub async fn list(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<CollaboratorRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(app).fetch_all(conn).await)
}

/// The app's collaborator with this email.
pub async fn find(tx: &mut ReadTx, app: &AppId, email: &str) -> sqlx::Result<Option<CollaboratorRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(app).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// Changes a role; 0 rows when the account has no access.
pub async fn set_role(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_ROLE).bind(app).bind(account).bind(role.as_str()).execute(conn).await)
}

/// Changes a role unless it is Owner; 0 rows when the account has no access, or now owns the app.
pub async fn change_role(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CHANGE_ROLE).bind(app).bind(account).bind(role.as_str()).execute(conn).await)
}

/// Records that an account accepts an app, later than all others it has accepted; 0 rows when it was accepted before. The account must be locked.
pub async fn accept(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(ACCEPT).bind(app).bind(account).bind(now).execute(conn).await)
}

/// Records that the previous owner accepts the app, earlier than all others it has accepted, so its bare name still means this app. The account must be
/// locked.
pub async fn accept_first(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(ACCEPT_FIRST).bind(app).bind(account).bind(now).execute(conn).await)
}

/// How many of the account's outgoing transfers are not accepted yet.
pub async fn outgoing(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(OUTGOING).bind(account).fetch_one(conn).await)
}

/// The account's incoming transfers that it has not accepted yet, sorted by sender.
pub async fn incoming(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(INCOMING).bind(account).fetch_all(conn).await)
}

/// Other accounts' apps that the account has access to, at most `limit`; those waiting for acceptance first.
pub async fn shared(tx: &mut ReadTx, account: &AccountId, limit: i64) -> sqlx::Result<Vec<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(SHARED).bind(account).bind(limit).fetch_all(conn).await)
}

/// One of these apps.
pub async fn find_shared(tx: &mut ReadTx, account: &AccountId, app: &AppId) -> sqlx::Result<Option<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_SHARED).bind(account).bind(app).fetch_optional(conn).await)
}

/// Removes an account's access.
pub async fn delete(tx: &mut WriteTx, app: &AppId, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(app).bind(account).execute(conn).await)
}
