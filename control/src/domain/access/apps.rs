//! SQL of apps and of who has access to them.

use std::borrow::Cow;

use shared::ids::{AccountId, AppId};
use shared::text::{nfc, spellings};
use shared::time::UnixMillis;

use crate::domain::access::{Role, collaborators};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// A query for apps that the account `$1` has access to; the argument is its end.
macro_rules! apps_of {
    ($end:literal) => {
        concat!(
            "SELECT a.id, a.name, a.created_time, o.email AS owner_email, \
             CASE WHEN a.owner_id = $1 THEN TRUE ELSE FALSE END AS is_own, c.accepted_time, c.permission \
             FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id WHERE c.account_id = $1 ",
            $end
        )
    };
}

const LIST: &str = apps_of!("ORDER BY a.name, a.id");
const FIND: &str = apps_of!("AND a.id = $2");
// SQL cannot normalize a name that was stored before names were: the own ones that may be such are read too.
const NAMESAKES: &str = apps_of!("AND (a.name IN ($2, $3) OR (a.owner_id = $1 AND OCTET_LENGTH(a.name) <> LENGTH(a.name)))");
const FIND_OWNED: &str = "SELECT id FROM apps WHERE owner_id = $1 AND name = $2";
const DEPLOYMENTS: &str = "SELECT name FROM deployments WHERE app_id = $1";
const DEPLOYMENTS_OF: &str =
    "SELECT d.app_id, d.name FROM deployments d JOIN collaborators c ON c.app_id = d.app_id WHERE c.account_id = $1 ORDER BY d.name";
const COLLABORATORS_OF: &str = "SELECT c.app_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    JOIN collaborators mine ON mine.app_id = c.app_id WHERE mine.account_id = $1 ORDER BY a.email";
const INSERT: &str = "INSERT INTO apps (id, owner_id, name, created_time) VALUES ($1, $2, $3, $4)";
// Serializes renames, transfers, shares, deletions, and changes to the app's deployments.
const LOCK: &str = "SELECT id, name, owner_id AS namespace_id FROM apps WHERE id = $1 FOR NO KEY UPDATE";
const ROLE: &str = "SELECT permission FROM collaborators WHERE app_id = $1 AND account_id = $2";
const RENAME: &str = "UPDATE apps SET name = $2 WHERE id = $1";
const MOVE: &str = "UPDATE apps SET owner_id = $2, name = $3 WHERE id = $1";
const DELETE: &str = "DELETE FROM apps WHERE id = $1";

/// Every SQL statement in this file.
pub const SQL: &[&str] =
    &[LIST, FIND, NAMESAKES, FIND_OWNED, DEPLOYMENTS, DEPLOYMENTS_OF, COLLABORATORS_OF, INSERT, LOCK, ROLE, RENAME, MOVE, DELETE];

/// An app that this transaction has locked.
#[derive(Debug, sqlx::FromRow)]
pub struct LockedRow {
    /// Its ID.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// The account whose namespace holds the app: its owner, or the sender of a transfer that is not accepted yet.
    pub namespace_id: AccountId,
}

/// An app in a list.
#[derive(Debug, sqlx::FromRow)]
pub struct AppRow {
    /// Its ID.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// The email of the account whose namespace holds the app, for the long form of its name.
    pub owner_email: String,
    /// Whether the app is in the requesting account's own namespace.
    pub is_own: bool,
    /// When the account accepted it.
    pub accepted_time: Option<UnixMillis>,
    /// The account's role.
    pub permission: Role,
}

impl AppRow {
    /// The sort key: by normalized name. Among apps with the same name, the one that the bare name means comes first; unaccepted ones come last, by owner.
    pub fn order(&self) -> (Cow<'_, str>, bool, bool, Option<UnixMillis>, &str) {
        (nfc(&self.name), !self.is_own, !self.is_accepted(), self.accepted_time, &self.owner_email)
    }

    /// Whether the account's bare names can refer to it.
    pub fn is_accepted(&self) -> bool {
        self.is_own || self.accepted_time.is_some()
    }

    /// The name that refers to it for everyone with access.
    pub fn long_name(&self) -> String {
        format!("{}:{}", self.owner_email, self.name)
    }
}

/// All apps that the account has access to; sort them by [`AppRow::order`].
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<AppRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// One app that the account has access to.
pub async fn find(tx: &mut ReadTx, account: &AccountId, app: &AppId) -> sqlx::Result<Option<AppRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(app).fetch_optional(conn).await)
}

/// The apps that the account has access to, or more, that decide whether its bare name `name` means an app with that stored name.
pub async fn namesakes(tx: &mut ReadTx, account: &AccountId, name: &str) -> sqlx::Result<Vec<AppRow>> {
    on!(tx, |conn| sqlx::query_as(NAMESAKES).bind(account).bind(name).bind(nfc(name).as_ref()).fetch_all(conn).await)
}

/// The app with this name in the account's namespace.
pub async fn find_owned(tx: &mut ReadTx, owner: &AccountId, name: &str) -> sqlx::Result<Option<AppId>> {
    for name in spellings(name) {
        let found = on!(tx, |conn| sqlx::query_scalar(FIND_OWNED).bind(owner).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The names of an app's deployments, unordered.
pub async fn deployments(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(DEPLOYMENTS).bind(app).fetch_all(conn).await)
}

/// Deployment names of all apps that the account has access to, sorted by name.
pub async fn deployments_of(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<(AppId, String)>> {
    on!(tx, |conn| sqlx::query_as(DEPLOYMENTS_OF).bind(account).fetch_all(conn).await)
}

/// Emails and roles of the collaborators of all apps that the account has access to.
pub async fn collaborators_of(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<(AppId, String, Role)>> {
    on!(tx, |conn| sqlx::query_as(COLLABORATORS_OF).bind(account).fetch_all(conn).await)
}

/// Inserts an app and its owner's collaborator row.
pub async fn insert(tx: &mut WriteTx, id: &AppId, owner: &AccountId, name: &str, now: UnixMillis) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(id).bind(owner).bind(name).bind(now).execute(conn).await)?;
    collaborators::insert(tx, id, owner, Role::Owner, now).await?;
    Ok(())
}

/// Locks an app until the transaction ends.
pub async fn lock(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<Option<LockedRow>> {
    let lock = tx.locking(LOCK);
    on!(tx, |conn| sqlx::query_as(lock).bind(app).fetch_optional(conn).await)
}

/// The account's role on an app.
pub async fn role(tx: &mut ReadTx, app: &AppId, account: &AccountId) -> sqlx::Result<Option<Role>> {
    on!(tx, |conn| sqlx::query_scalar(ROLE).bind(app).bind(account).fetch_optional(conn).await)
}

/// Renames an app.
pub async fn rename(tx: &mut WriteTx, app: &AppId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(app).bind(name).execute(conn).await)
}

/// Moves an app to another account's namespace, under this name.
pub async fn move_to(tx: &mut WriteTx, app: &AppId, account: &AccountId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(MOVE).bind(app).bind(account).bind(name).execute(conn).await)
}

/// Deletes an app with its collaborators, deployments and releases. Blobs, counters and device rows stay.
pub async fn delete(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(app).execute(conn).await)
}
