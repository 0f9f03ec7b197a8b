//! SQL of apps and of who may reach them.

use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// The longest-held access wins a bare name, so that a later share or transfer can never capture a name in use.
const RESOLVE_BARE: &str = "SELECT a.id, a.name, a.owner_id, a.created_time, c.permission \
    FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE c.account_id = $1 AND a.name = $2 ORDER BY c.access_time, a.id LIMIT 1";
const RESOLVE_LONG: &str = "SELECT a.id, a.name, a.owner_id, a.created_time, c.permission \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND a.name = $2 AND o.email = $3";
const ACCESS: &str = "SELECT a.owner_id, c.permission FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE c.app_id = $1 AND c.account_id = $2";
const LIST: &str = "SELECT a.id, a.name, a.created_time, o.email AS owner_email \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 ORDER BY a.name, c.access_time, a.id";
const FIND: &str = "SELECT a.id, a.name, a.created_time, o.email AS owner_email \
    FROM apps a JOIN accounts o ON o.id = a.owner_id WHERE a.id = $1";
const DEPLOYMENTS_OF: &str = "SELECT d.app_id, d.name FROM deployments d JOIN collaborators c ON c.app_id = d.app_id \
    WHERE c.account_id = $1 ORDER BY d.name";
const COLLABORATORS_OF: &str = "SELECT c.app_id, a.email, c.permission FROM collaborators c JOIN accounts a ON a.id = c.account_id \
    JOIN collaborators mine ON mine.app_id = c.app_id WHERE mine.account_id = $1 ORDER BY a.email";
const INSERT: &str = "INSERT INTO apps (id, owner_id, name, created_time) VALUES ($1, $2, $3, $4)";
const INSERT_COLLABORATOR: &str = "INSERT INTO collaborators (app_id, account_id, permission, access_time) VALUES ($1, $2, $3, $4)";

/// Every statement of this file.
pub const SQL: &[&str] = &[RESOLVE_BARE, RESOLVE_LONG, ACCESS, LIST, FIND, DEPLOYMENTS_OF, COLLABORATORS_OF, INSERT, INSERT_COLLABORATOR];

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

/// What an account is to an app.
#[derive(Debug, sqlx::FromRow)]
pub struct AccessRow {
    /// Who owns the app.
    pub owner_id: AccountId,
    /// The account's role.
    pub permission: String,
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
    match name.split_once(':') {
        Some((owner, name)) => {
            let owner = owner.trim().to_lowercase();
            on!(tx, |conn| sqlx::query_as(RESOLVE_LONG).bind(account).bind(name).bind(owner).fetch_optional(conn).await)
        }
        None => on!(tx, |conn| sqlx::query_as(RESOLVE_BARE).bind(account).bind(name).fetch_optional(conn).await),
    }
}

/// What the account is to this app; nothing when it cannot reach it.
pub async fn access(tx: &mut ReadTx, app: &AppId, account: &AccountId) -> sqlx::Result<Option<AccessRow>> {
    on!(tx, |conn| sqlx::query_as(ACCESS).bind(app).bind(account).fetch_optional(conn).await)
}

/// Every app that the account can reach, by name; apps of one name with the one first that the bare name means.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<AppRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// One app.
pub async fn find(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Option<AppRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(app).fetch_optional(conn).await)
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
    on_write!(tx, |conn| sqlx::query(INSERT_COLLABORATOR).bind(id).bind(owner).bind("Owner").bind(now).execute(conn).await)?;
    Ok(())
}
