//! SQL of access keys.

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use crate::auth::token::TokenHash;
use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const FIND_BY_HASH: &str = "SELECT k.id, k.account_id, a.email, k.expires, k.last_used_time \
    FROM access_keys k JOIN accounts a ON a.id = k.account_id WHERE k.token_hash = $1";
const TOUCH: &str = "UPDATE access_keys SET last_used_time = $2 WHERE id = $1";
const INSERT: &str = "INSERT INTO access_keys (id, account_id, token_hash, friendly_name, created_by, created_time, expires) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_BY_HASH, TOUCH, INSERT];

/// A key with its account's address.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// The key's id.
    pub id: AccessKeyId,
    /// Whose it is.
    pub account_id: AccountId,
    /// That account's e-mail address.
    pub email: String,
    /// When it ends.
    pub expires: UnixMillis,
    /// When it was last used, to within five minutes.
    pub last_used_time: Option<UnixMillis>,
}

/// A key to be stored.
#[derive(Debug)]
pub struct NewKeyRow<'a> {
    /// Its id.
    pub id: &'a AccessKeyId,
    /// Whose it is.
    pub account: &'a AccountId,
    /// The hash of the raw key.
    pub hash: &'a TokenHash,
    /// Its name, unique within the account.
    pub friendly_name: &'a str,
    /// The address it was made from.
    pub created_by: &'a str,
    /// When it was made.
    pub created: UnixMillis,
    /// When it ends.
    pub expires: UnixMillis,
}

/// The key with this hash.
pub async fn find_by_hash(tx: &mut ReadTx, hash: &TokenHash) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_HASH).bind(hash.as_str()).fetch_optional(conn).await)
}

/// Notes that the key was used.
pub async fn touch(tx: &mut WriteTx, id: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH).bind(id).bind(now).execute(conn).await)
}

/// Stores a key.
pub async fn insert(tx: &mut WriteTx, key: &NewKeyRow<'_>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(key.id)
        .bind(key.account)
        .bind(key.hash.as_str())
        .bind(key.friendly_name)
        .bind(key.created_by)
        .bind(key.created)
        .bind(key.expires)
        .execute(conn)
        .await)
}
