//! Collaborators who have no account yet: an import has read their addresses. Anyone who confirms such an address within 90 days becomes a collaborator.

use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use super::{Role, collaborators};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::limits::settings::Quotas;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// How long an address is waited for, in milliseconds.
pub const WAITING: i64 = 90 * 86_400_000;

const INSERT: &str = "INSERT INTO awaited_collaborators (app_id, email, permission, expires) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (app_id, email) DO UPDATE SET expires = excluded.expires";
const TAKE: &str = "DELETE FROM awaited_collaborators WHERE email = $1 RETURNING app_id, permission, expires";
const LIST: &str = "SELECT email FROM awaited_collaborators WHERE app_id = $1 AND expires > $2 ORDER BY email";
const ROWS: &str = "SELECT email, permission, expires FROM awaited_collaborators WHERE app_id = $1 AND expires > $2 ORDER BY email";
const REMOVE: &str = "DELETE FROM awaited_collaborators WHERE app_id = $1 AND email = $2 AND expires > $3 RETURNING permission";
const DUE: &str = "SELECT app_id, email FROM awaited_collaborators WHERE expires <= $1 ORDER BY expires LIMIT $2";
const EXPIRE: &str = "DELETE FROM awaited_collaborators WHERE app_id = $1 AND email = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, TAKE, LIST, ROWS, REMOVE, DUE, EXPIRE];

/// When addresses are no longer waited for.
pub const EXPIRY: Expiry = Expiry { due: DUE, delete: EXPIRE, after: 0 };

/// Somebody who has no account yet.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AwaitedRow {
    /// The email address.
    pub email: String,
    /// The role that an account with this address gets.
    pub permission: Role,
    /// Until when it is waited for.
    pub expires: UnixMillis,
}

/// Waits for the owner of an address.
pub async fn insert(tx: &mut WriteTx, app: &AppId, email: &Email, role: Role, now: UnixMillis) -> sqlx::Result<u64> {
    let expires = now.plus_millis(WAITING);
    on_write!(tx, |conn| sqlx::query(INSERT).bind(app).bind(&**email).bind(role.as_str()).bind(expires).execute(conn).await)
}

/// The addresses that an app waits for.
pub async fn list(tx: &mut ReadTx, app: &AppId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(LIST).bind(app).bind(now).fetch_all(conn).await)
}

/// Everyone that an app waits for, by address.
pub async fn rows(tx: &mut ReadTx, app: &AppId, now: UnixMillis) -> sqlx::Result<Vec<AwaitedRow>> {
    on!(tx, |conn| sqlx::query_as(ROWS).bind(app).bind(now).fetch_all(conn).await)
}

/// Waits for an address no longer. Returns the role that it would have got; `None` if it was not waited for.
pub async fn remove(tx: &mut WriteTx, app: &AppId, email: &str, now: UnixMillis) -> sqlx::Result<Option<Role>> {
    on!(tx, |conn| sqlx::query_scalar(REMOVE).bind(app).bind(email).bind(now).fetch_optional(conn).await)
}

/// Gives a new account the access that waited for its address, not yet accepted. An app whose quota has no room is left out.
pub async fn join(tx: &mut WriteTx, quotas: &Quotas, email: &Email, account: &AccountId, now: UnixMillis) -> Result<()> {
    let mut waiting: Vec<(AppId, Role, UnixMillis)> = on!(tx, |conn| sqlx::query_as(TAKE).bind(&**email).fetch_all(conn).await)?;
    // Two confirmations take rows of the same apps in the same order.
    waiting.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    for (app, role, expires) in waiting {
        match quotas.check_collaborators(tx, &app).await {
            Ok(()) if expires > now => collaborators::insert(tx, &app, account, role, now).await?,
            Ok(()) | Err(Error::Quota(_)) => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(())
}
