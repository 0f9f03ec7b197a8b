//! SQL of collaborators.
//!
//! `accepted_time` is when the account accepted the app. It orders what a bare name means, the earliest first, so a new one is later than every other of
//! the account, whatever the clock says. `access_time`, when the account came to have access, orders the same for the release before this one.
//! The role Owner of an account in whose namespace the app is not is that of a receiver who has not accepted the transfer yet.

use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use crate::domain::access::Role;
use crate::domain::email::former;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO collaborators (app_id, account_id, permission, access_time, is_received) \
    SELECT $1, $2, $3, CASE WHEN MAX(access_time) >= $4 THEN MAX(access_time) + 1 ELSE $4 END, $5 FROM collaborators WHERE account_id = $2";
const LIST: &str = "SELECT c.account_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 ORDER BY c.account_id";
const FIND: &str = "SELECT c.account_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    WHERE c.app_id = $1 AND a.email IN ($2, $3) ORDER BY CASE WHEN a.email = $2 THEN 0 ELSE 1 END LIMIT 1";
const SET_ROLE: &str = "UPDATE collaborators SET permission = $3 WHERE app_id = $1 AND account_id = $2";
// Somebody's role may become the owner's while this waits: deleting the receiver's account declines a transfer without a lock on the app.
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

/// Every statement of this file.
pub const SQL: &[&str] =
    &[INSERT, LIST, FIND, SET_ROLE, CHANGE_ROLE, ACCEPT, ACCEPT_FIRST, OUTGOING, INCOMING, SHARED, FIND_SHARED, DELETE];

/// A collaborator of an app.
#[derive(Debug, sqlx::FromRow)]
pub struct CollaboratorRow {
    /// The account.
    pub account_id: AccountId,
    /// Its e-mail address.
    pub email: String,
    /// Its role.
    pub permission: Role,
}

/// An app of somebody else that an account has access to.
#[derive(Debug, sqlx::FromRow)]
pub struct SharedRow {
    /// The app.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// The account in whose namespace it is.
    pub namespace_id: AccountId,
    /// That account's address.
    pub owner_email: String,
    /// The role of the account that has access.
    pub permission: Role,
    /// When that account accepted it.
    pub accepted_time: Option<UnixMillis>,
}

impl SharedRow {
    /// Whether it was transferred to the account, which has not accepted that yet.
    pub fn is_transfer(&self) -> bool {
        self.permission == Role::Owner
    }

    /// Whether there is something to accept.
    pub fn is_waiting(&self) -> bool {
        self.accepted_time.is_none() || self.is_transfer()
    }

    /// The name that means it to everybody who can reach it.
    pub fn long_name(&self) -> String {
        format!("{}:{}", self.owner_email, self.name)
    }
}

/// Gives an account access to an app that it has not accepted. The account must be locked, so that of two accesses that it gets at once one is the earlier.
pub async fn insert(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(account).bind(role.as_str()).bind(now).bind(false).execute(conn).await)
}

/// The same for the receiver of a transfer, to whom no bare name means the app before it is accepted.
pub async fn receive(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    let owner = Role::Owner.as_str();
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(account).bind(owner).bind(now).bind(true).execute(conn).await)
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

/// Changes the role of one that is not the owner; 0 rows when the account has no access, or has come to own the app.
pub async fn change_role(tx: &mut WriteTx, app: &AppId, account: &AccountId, role: Role) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CHANGE_ROLE).bind(app).bind(account).bind(role.as_str()).execute(conn).await)
}

/// Notes that an account accepts an app, after every other that it has accepted; 0 rows when it did so before. The account must be locked.
pub async fn accept(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(ACCEPT).bind(app).bind(account).bind(now).execute(conn).await)
}

/// Notes the same of the account that has owned the app so far, before every other that it has accepted: its bare name goes on meaning this app. The
/// account must be locked.
pub async fn accept_first(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(ACCEPT_FIRST).bind(app).bind(account).bind(now).execute(conn).await)
}

/// How many apps the account has transferred that nobody has accepted yet.
pub async fn outgoing(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(OUTGOING).bind(account).fetch_one(conn).await)
}

/// The apps that were transferred to the account, which has not accepted them yet, by sender.
pub async fn incoming(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(INCOMING).bind(account).fetch_all(conn).await)
}

/// The apps of others that the account has access to, at most `limit`; those with something to accept first.
pub async fn shared(tx: &mut ReadTx, account: &AccountId, limit: i64) -> sqlx::Result<Vec<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(SHARED).bind(account).bind(limit).fetch_all(conn).await)
}

/// One of them.
pub async fn find_shared(tx: &mut ReadTx, account: &AccountId, app: &AppId) -> sqlx::Result<Option<SharedRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_SHARED).bind(account).bind(app).fetch_optional(conn).await)
}

/// Takes an account's access away.
pub async fn delete(tx: &mut WriteTx, app: &AppId, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(app).bind(account).execute(conn).await)
}
