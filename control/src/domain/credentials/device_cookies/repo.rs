//! SQL of device cookies.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::service::LIFETIME;
use crate::domain::credentials::token::TokenHash;
use crate::domain::email::former;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// Looked up by the email as typed: only someone who has signed in to the account learns whether it exists.
const IS_OF: &str = "SELECT COUNT(*) FROM device_cookies d JOIN accounts a ON a.id = d.account_id \
    WHERE d.token_hash = $1 AND a.email IN ($2, $4) AND d.created_time > $3";
const TOUCH: &str = "UPDATE device_cookies SET last_used_time = $4 WHERE token_hash = $1 AND account_id = $2 AND created_time > $3";
const INSERT: &str = "INSERT INTO device_cookies (token_hash, account_id, created_time, last_used_time) VALUES ($1, $2, $3, $3)";
const DELETE: &str = "DELETE FROM device_cookies WHERE token_hash = $1";
const DELETE_OLDEST: &str = "DELETE FROM device_cookies WHERE account_id = $1 AND token_hash NOT IN \
    (SELECT token_hash FROM device_cookies WHERE account_id = $1 ORDER BY created_time DESC, token_hash LIMIT $2)";
const DELETE_ALL: &str = "DELETE FROM device_cookies WHERE account_id = $1";

const EXPIRED: &str = "SELECT token_hash, account_id FROM device_cookies WHERE created_time <= $1 ORDER BY created_time LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM device_cookies WHERE token_hash = $1 AND account_id = $2 AND created_time <= $3";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[IS_OF, TOUCH, INSERT, DELETE, DELETE_OLDEST, DELETE_ALL, EXPIRED, DELETE_EXPIRED];

/// Deletion of expired cookies.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: LIFETIME };

/// Whether the cookie belongs to the account with this email, and was created after `since`.
pub async fn is_of(tx: &mut ReadTx, hash: &TokenHash, email: &str, since: UnixMillis) -> sqlx::Result<bool> {
    let former = former(email);
    let count: i64 =
        on!(tx, |conn| sqlx::query_scalar(IS_OF).bind(hash.as_str()).bind(email).bind(since).bind(former.as_ref()).fetch_one(conn).await)?;
    Ok(count > 0)
}

/// Records a use. Returns whether the cookie is the account's and was created after `since`.
pub async fn touch(tx: &mut WriteTx, hash: &TokenHash, account: &AccountId, since: UnixMillis, now: UnixMillis) -> sqlx::Result<bool> {
    let touched = on_write!(tx, |conn| sqlx::query(TOUCH).bind(hash.as_str()).bind(account).bind(since).bind(now).execute(conn).await)?;
    Ok(touched > 0)
}

/// Inserts a cookie.
pub async fn insert(tx: &mut WriteTx, hash: &TokenHash, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(hash.as_str()).bind(account).bind(now).execute(conn).await)
}

/// Deletes a cookie.
pub async fn delete(tx: &mut WriteTx, hash: &TokenHash) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(hash.as_str()).execute(conn).await)
}

/// Deletes all of an account's cookies except the newest `keep`.
pub async fn delete_oldest(tx: &mut WriteTx, account: &AccountId, keep: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_OLDEST).bind(account).bind(keep).execute(conn).await)
}

/// Deletes all of an account's cookies.
pub async fn delete_all(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_ALL).bind(account).execute(conn).await)
}
