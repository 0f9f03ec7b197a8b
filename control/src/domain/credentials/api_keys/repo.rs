//! SQL of API keys.

use shared::ids::{AccountId, ApiKeyId};
use shared::time::UnixMillis;

use crate::domain::credentials::scope::ScopeSet;
use crate::domain::credentials::token::TokenHash;
use crate::domain::error::{Error, Result};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO api_keys (id, account_id, name, key_prefix, key_hash, scopes, expires_time, created_time, updated_time) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)";
const FIND_BY_PREFIX: &str = "SELECT k.id, k.name, k.key_prefix, k.scopes, k.expires_time, k.revoked_time, k.last_used_time, k.created_time, \
    k.updated_time, k.key_hash, k.account_id, a.email, a.suspended_time FROM api_keys k JOIN accounts a ON a.id = k.account_id \
    WHERE k.key_prefix = $1";
const LIST: &str = "SELECT id, name, key_prefix, scopes, expires_time, revoked_time, last_used_time, created_time, updated_time \
    FROM api_keys WHERE account_id = $1 ORDER BY created_time, id";
const FIND: &str = "SELECT id, name, key_prefix, scopes, expires_time, revoked_time, last_used_time, created_time, updated_time \
    FROM api_keys WHERE account_id = $1 AND id = $2";
// Usable means that the owner is not suspended.
const FIND_USABLE: &str = "SELECT k.id, k.name, k.key_prefix, k.scopes, k.expires_time, k.revoked_time, k.last_used_time, k.created_time, \
    k.updated_time FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.account_id = $1 AND k.id = $2 AND a.suspended_time IS NULL";
const COUNT_ALIVE: &str =
    "SELECT COUNT(*) FROM api_keys WHERE account_id = $1 AND revoked_time IS NULL AND (expires_time IS NULL OR expires_time > $2)";
const NAMES: &str = "SELECT name FROM api_keys \
    WHERE account_id = $1 AND revoked_time IS NULL AND (expires_time IS NULL OR expires_time > $2) ORDER BY created_time, id";
const UPDATE: &str = "UPDATE api_keys SET name = $2, scopes = $3, expires_time = $4, updated_time = $5 WHERE id = $1";
const REVOKE: &str = "UPDATE api_keys SET revoked_time = $2, updated_time = $2 WHERE id = $1 AND revoked_time IS NULL";
const REVOKE_ALL: &str =
    "UPDATE api_keys SET revoked_time = $2, updated_time = $2 WHERE account_id = $1 AND revoked_time IS NULL RETURNING name";
const TOUCH: &str = "UPDATE api_keys SET last_used_time = $2 WHERE id = $1 AND COALESCE(last_used_time, 0) < $2";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[INSERT, FIND_BY_PREFIX, LIST, FIND, FIND_USABLE, COUNT_ALIVE, NAMES, UPDATE, REVOKE, REVOKE_ALL, TOUCH];

/// A stored API key.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ApiKey {
    /// Its ID.
    pub id: ApiKeyId,
    /// Its name; not unique.
    pub name: String,
    /// Its public prefix.
    pub key_prefix: String,
    scopes: String,
    /// When it expires; `None` means never.
    pub expires_time: Option<UnixMillis>,
    /// When it was revoked.
    pub revoked_time: Option<UnixMillis>,
    /// When it was last used, accurate to five minutes.
    pub last_used_time: Option<UnixMillis>,
    /// When it was created.
    pub created_time: UnixMillis,
    /// When its owner last updated it.
    pub updated_time: UnixMillis,
}

impl ApiKey {
    /// Its scopes.
    pub fn scopes(&self) -> Result<ScopeSet> {
        let names: Vec<&str> = serde_json::from_str(&self.scopes).map_err(Error::internal)?;
        ScopeSet::parse(&names).map_err(Error::internal)
    }

    /// Whether it is valid: neither revoked nor expired.
    pub fn is_alive(&self, now: UnixMillis) -> bool {
        self.revoked_time.is_none() && self.expires_time.is_none_or(|expires| now < expires)
    }
}

/// An API key with what is needed to authenticate with it.
#[derive(Debug, sqlx::FromRow)]
pub struct ShownKey {
    /// The key.
    #[sqlx(flatten)]
    pub key: ApiKey,
    /// The hash of the plain key.
    pub key_hash: String,
    /// The account it belongs to.
    pub account_id: AccountId,
    /// The account's email.
    pub email: String,
    /// When the operator suspended the account; none of its keys work then.
    pub suspended_time: Option<UnixMillis>,
}

/// An API key to insert.
#[derive(Debug)]
pub struct NewApiKeyRow<'a> {
    /// Its ID.
    pub id: &'a ApiKeyId,
    /// The account it belongs to.
    pub account: &'a AccountId,
    /// Its name.
    pub name: &'a str,
    /// Its public prefix.
    pub prefix: &'a str,
    /// The hash of the plain key.
    pub hash: &'a TokenHash,
    /// Its scopes.
    pub scopes: ScopeSet,
    /// When it expires.
    pub expires: Option<UnixMillis>,
    /// When it was created.
    pub created: UnixMillis,
}

/// Inserts a key.
pub async fn insert(tx: &mut WriteTx, key: &NewApiKeyRow<'_>) -> Result<u64> {
    let scopes = stored(key.scopes)?;
    Ok(on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(key.id)
        .bind(key.account)
        .bind(key.name)
        .bind(key.prefix)
        .bind(key.hash.as_str())
        .bind(&scopes)
        .bind(key.expires)
        .bind(key.created)
        .execute(conn)
        .await)?)
}

/// The key with this public prefix, even if its owner is suspended.
pub async fn find_by_prefix(tx: &mut ReadTx, prefix: &str) -> sqlx::Result<Option<ShownKey>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_PREFIX).bind(prefix).fetch_optional(conn).await)
}

/// The account's keys, including revoked and expired ones, oldest first.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// A key of the account.
pub async fn find(tx: &mut ReadTx, account: &AccountId, id: &str) -> sqlx::Result<Option<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(id).fetch_optional(conn).await)
}

/// A key of the account, if the account is not suspended.
pub async fn find_usable(tx: &mut ReadTx, account: &AccountId, id: &str) -> sqlx::Result<Option<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(FIND_USABLE).bind(account).bind(id).fetch_optional(conn).await)
}

/// The number of the account's keys that are neither revoked nor expired.
pub async fn count_alive(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT_ALIVE).bind(account).bind(now).fetch_one(conn).await)
}

/// The names of the account's keys that are neither revoked nor expired, oldest first.
pub async fn names(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(NAMES).bind(account).bind(now).fetch_all(conn).await)
}

/// Updates a key.
pub async fn update(
    tx: &mut WriteTx,
    id: &ApiKeyId,
    name: &str,
    scopes: ScopeSet,
    expires: Option<UnixMillis>,
    now: UnixMillis,
) -> Result<u64> {
    let scopes = stored(scopes)?;
    Ok(on_write!(tx, |conn| sqlx::query(UPDATE).bind(id).bind(name).bind(&scopes).bind(expires).bind(now).execute(conn).await)?)
}

/// Revokes a key, unless it already is revoked.
pub async fn revoke(tx: &mut WriteTx, id: &ApiKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REVOKE).bind(id).bind(now).execute(conn).await)
}

/// Revokes all of the account's unrevoked keys, and returns their names.
pub async fn revoke_all(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(REVOKE_ALL).bind(account).bind(now).fetch_all(conn).await)
}

/// Records a use of the key, unless a later one is recorded already.
pub async fn touch(tx: &mut WriteTx, id: &ApiKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH).bind(id).bind(now).execute(conn).await)
}

/// The scopes as a JSON array of names.
fn stored(scopes: ScopeSet) -> Result<String> {
    serde_json::to_string(&scopes.names()).map_err(Error::internal)
}
