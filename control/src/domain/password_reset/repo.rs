//! SQL of password resets.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO password_resets (token_hash, account_id, expires) VALUES ($1, $2, $3)";
const FIND: &str = "SELECT account_id FROM password_resets WHERE token_hash = $1 AND expires > $2";
const USE: &str = "DELETE FROM password_resets WHERE token_hash = $1 AND expires > $2";
const CANCEL: &str = "DELETE FROM password_resets WHERE account_id = $1";

const EXPIRED: &str = "SELECT token_hash, token_hash FROM password_resets WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM password_resets WHERE token_hash = $1 AND token_hash = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, FIND, USE, CANCEL, EXPIRED, DELETE_EXPIRED];

/// Expired resets.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// Stores a token.
pub async fn insert(tx: &mut WriteTx, token: &TokenHash, account: &AccountId, expires: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(token.as_str()).bind(account).bind(expires).execute(conn).await)
}

/// Finds the account of a token, unless it has expired.
pub async fn find(tx: &mut ReadTx, token: &TokenHash, now: UnixMillis) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND).bind(token.as_str()).bind(now).fetch_optional(conn).await)
}

/// Uses up a token; `false` if a concurrent request used it first or it has expired.
pub async fn use_up(tx: &mut WriteTx, token: &TokenHash, now: UnixMillis) -> sqlx::Result<bool> {
    let used = on_write!(tx, |conn| sqlx::query(USE).bind(token.as_str()).bind(now).execute(conn).await)?;
    Ok(used > 0)
}

/// Invalidates the account's outstanding tokens.
pub async fn cancel(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CANCEL).bind(account).execute(conn).await)
}
