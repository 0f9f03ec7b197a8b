//! SQL of recovery codes.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const FIND_KEY: &str = "SELECT sealed FROM recovery_keys WHERE account_id = $1";
const SET_KEY: &str = "INSERT INTO recovery_keys (account_id, sealed, created_time) VALUES ($1, $2, $3) \
    ON CONFLICT (account_id) DO UPDATE SET sealed = excluded.sealed, created_time = excluded.created_time";
const INSERT: &str = "INSERT INTO recovery_codes (account_id, code_hash) VALUES ($1, $2)";
const USE: &str = "DELETE FROM recovery_codes WHERE account_id = $1 AND code_hash = $2";
const COUNT: &str = "SELECT COUNT(*) FROM recovery_codes WHERE account_id = $1";
const DELETE_CODES: &str = "DELETE FROM recovery_codes WHERE account_id = $1";
const DELETE_KEY: &str = "DELETE FROM recovery_keys WHERE account_id = $1";
/// A page of keys, for [`crate::domain::encryption::sealed`].
pub const KEYS: &str = "SELECT account_id, sealed FROM recovery_keys \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
/// Re-encrypts a key.
pub const MOVE: &str = "UPDATE recovery_keys SET sealed = $3 WHERE account_id = $1 AND sealed = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_KEY, SET_KEY, INSERT, USE, COUNT, DELETE_CODES, DELETE_KEY, KEYS, MOVE];

/// The encrypted HMAC key of the account's codes.
pub async fn find_key(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<Vec<u8>>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_KEY).bind(account).fetch_optional(conn).await)
}

/// Stores the HMAC key for new codes.
pub async fn set_key(tx: &mut WriteTx, account: &AccountId, sealed: &[u8], now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_KEY).bind(account).bind(sealed).bind(now).execute(conn).await)
}

/// Stores the hash of a code.
pub async fn insert(tx: &mut WriteTx, account: &AccountId, hash: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT).bind(account).bind(hash).execute(conn).await)
}

/// Uses up a code; `false` if there is none with this hash, or a concurrent request used it.
pub async fn use_up(tx: &mut WriteTx, account: &AccountId, hash: &str) -> sqlx::Result<bool> {
    let used = on_write!(tx, |conn| sqlx::query(USE).bind(account).bind(hash).execute(conn).await)?;
    Ok(used > 0)
}

/// How many codes are left.
pub async fn count(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT).bind(account).fetch_one(conn).await)
}

/// Deletes every code of the account.
pub async fn delete_all(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(DELETE_CODES).bind(account).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(DELETE_KEY).bind(account).execute(conn).await)?;
    Ok(())
}
