//! SQL of apps and of who may reach them.

use shared::ids::{AccountId, AppId};
use shared::text::spellings;
use shared::time::UnixMillis;

use crate::accounts::email;
use crate::auth::Role;
use crate::collaborators;
use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// The longest-held access wins a bare name, so that a later share or transfer can never capture a name in use.
const RESOLVE_BARE: &str = "SELECT a.id, a.name, a.owner_id, a.created_time, c.permission \
    FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE c.account_id = $1 AND a.name = $2 ORDER BY c.access_time, a.id LIMIT 1";
const RESOLVE_LONG: &str = "SELECT a.id, a.name, a.owner_id, a.created_time, c.permission \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND a.name = $2 AND o.email IN ($3, $4) ORDER BY CASE WHEN o.email = $3 THEN 0 ELSE 1 END LIMIT 1";
const LIST: &str = "SELECT a.id, a.name, a.created_time, o.email AS owner_email \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 ORDER BY a.name, c.access_time, a.id";
const FIND: &str = "SELECT a.id, a.name, a.created_time, o.email AS owner_email \
    FROM apps a JOIN accounts o ON o.id = a.owner_id WHERE a.id = $1";
const FIND_OWNED: &str = "SELECT id FROM apps WHERE owner_id = $1 AND name = $2";
const DEPLOYMENTS_OF: &str = "SELECT d.app_id, d.name FROM deployments d JOIN collaborators c ON c.app_id = d.app_id \
    WHERE c.account_id = $1 ORDER BY d.name";
const COLLABORATORS_OF: &str = "SELECT c.app_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    JOIN collaborators mine ON mine.app_id = c.app_id WHERE mine.account_id = $1 ORDER BY a.email";
const INSERT: &str = "INSERT INTO apps (id, owner_id, name, created_time) VALUES ($1, $2, $3, $4)";
// Changes nothing; whoever renames, transfers, shares or deletes the app, or changes its deployments, waits here.
const LOCK: &str = "UPDATE apps SET created_time = created_time WHERE id = $1 RETURNING id, name, owner_id";
const ROLE: &str = "SELECT permission FROM collaborators WHERE app_id = $1 AND account_id = $2";
const RENAME: &str = "UPDATE apps SET name = $2 WHERE id = $1";
const SET_OWNER: &str = "UPDATE apps SET owner_id = $2 WHERE id = $1";
const DELETE: &str = "DELETE FROM apps WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] =
    &[RESOLVE_BARE, RESOLVE_LONG, LIST, FIND, FIND_OWNED, DEPLOYMENTS_OF, COLLABORATORS_OF, INSERT, LOCK, ROLE, RENAME, SET_OWNER, DELETE];

/// An app as one of its collaborators reaches it.
#[derive(Debug, sqlx::FromRow)]
pub struct ResolvedRow {
    /// Its id.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// Its owner.
    pub owner_id: AccountId,
    /// When it was made.
    pub created_time: UnixMillis,
    /// The caller's role.
    pub permission: String,
}

/// An app that this transaction has locked.
#[derive(Debug, sqlx::FromRow)]
pub struct LockedRow {
    /// Its id.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// Its owner.
    pub owner_id: AccountId,
}

/// An app in a list.
#[derive(Debug, sqlx::FromRow)]
pub struct AppRow {
    /// Its id.
    pub id: AppId,
    /// Its bare name.
    pub name: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Its owner's address, for the long form of its name.
    pub owner_email: String,
}

/// The app that `name` means to the account: a bare name, or `ownerEmail:appName`.
pub async fn resolve(tx: &mut ReadTx, account: &AccountId, name: &str) -> sqlx::Result<Option<ResolvedRow>> {
    let (owner, name) = name.split_once(':').map_or((None, name), |(owner, name)| (Some(email::sought(owner)), name));
    for name in spellings(name) {
        let found = match &owner {
            Some(owner) => {
                let former = email::former(owner);
                on!(tx, |conn| sqlx::query_as(RESOLVE_LONG)
                    .bind(account)
                    .bind(name.as_ref())
                    .bind(owner.as_str())
                    .bind(former.as_ref())
                    .fetch_optional(conn)
                    .await)?
            }
            None => on!(tx, |conn| sqlx::query_as(RESOLVE_BARE).bind(account).bind(name.as_ref()).fetch_optional(conn).await)?,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Every app that the account can reach, by name; apps of one name with the one first that the bare name means.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<AppRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// One app.
pub async fn find(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Option<AppRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(app).fetch_optional(conn).await)
}

/// The app of this name that the account owns.
pub async fn find_owned(tx: &mut ReadTx, owner: &AccountId, name: &str) -> sqlx::Result<Option<AppId>> {
    for name in spellings(name) {
        let found = on!(tx, |conn| sqlx::query_scalar(FIND_OWNED).bind(owner).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The deployments' names of every app that the account can reach, by name.
pub async fn deployments_of(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<(AppId, String)>> {
    on!(tx, |conn| sqlx::query_as(DEPLOYMENTS_OF).bind(account).fetch_all(conn).await)
}

/// Addresses and roles of the collaborators of every app that the account can reach.
pub async fn collaborators_of(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<(AppId, String, String)>> {
    on!(tx, |conn| sqlx::query_as(COLLABORATORS_OF).bind(account).fetch_all(conn).await)
}

/// Stores an app and its owner's row.
pub async fn insert(tx: &mut WriteTx, id: &AppId, owner: &AccountId, name: &str, now: UnixMillis) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(id).bind(owner).bind(name).bind(now).execute(conn).await)?;
    collaborators::repo::insert(tx, id, owner, Role::Owner, now).await?;
    Ok(())
}

/// Locks an app until the transaction ends.
pub async fn lock(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<Option<LockedRow>> {
    on!(tx, |conn| sqlx::query_as(LOCK).bind(app).fetch_optional(conn).await)
}

/// The role that an account has on an app.
pub async fn role(tx: &mut ReadTx, app: &AppId, account: &AccountId) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(ROLE).bind(app).bind(account).fetch_optional(conn).await)
}

/// Gives an app another name.
pub async fn rename(tx: &mut WriteTx, app: &AppId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(app).bind(name).execute(conn).await)
}

/// Gives an app another owner.
pub async fn set_owner(tx: &mut WriteTx, app: &AppId, owner: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_OWNER).bind(app).bind(owner).execute(conn).await)
}

/// Removes an app with its collaborators, deployments and releases. Blobs, counters and clients stay.
pub async fn delete(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(app).execute(conn).await)
}
