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
// What may be used: the owner is not suspended.
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

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, FIND_BY_PREFIX, LIST, FIND, FIND_USABLE, COUNT_ALIVE, NAMES, UPDATE, REVOKE, REVOKE_ALL, TOUCH];

/// A stored API key.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Its name; several of an account may have the same.
    pub name: String,
    /// Its public half.
    pub key_prefix: String,
    scopes: String,
    /// When it ends; `None`: never.
    pub expires_time: Option<UnixMillis>,
    /// When it was revoked.
    pub revoked_time: Option<UnixMillis>,
    /// When it was last used, to within five minutes.
    pub last_used_time: Option<UnixMillis>,
    /// When it was made.
    pub created_time: UnixMillis,
    /// When its owner last changed it.
    pub updated_time: UnixMillis,
}

impl ApiKey {
    /// What it may be used for.
    pub fn scopes(&self) -> Result<ScopeSet> {
        let names: Vec<&str> = serde_json::from_str(&self.scopes).map_err(Error::internal)?;
        ScopeSet::parse(&names).map_err(Error::internal)
    }

    /// Whether it can be used: neither revoked nor expired.
    pub fn is_alive(&self, now: UnixMillis) -> bool {
        self.revoked_time.is_none() && self.expires_time.is_none_or(|expires| now < expires)
    }
}

/// An API key that somebody shows.
#[derive(Debug, sqlx::FromRow)]
pub struct ShownKey {
    /// The key.
    #[sqlx(flatten)]
    pub key: ApiKey,
    /// The hash of its raw form.
    pub key_hash: String,
    /// Whose it is.
    pub account_id: AccountId,
    /// The account's e-mail address.
    pub email: String,
    /// When the operator suspended the account; of a suspended one no key works.
    pub suspended_time: Option<UnixMillis>,
}

/// An API key to be stored.
#[derive(Debug)]
pub struct NewApiKeyRow<'a> {
    /// Its id.
    pub id: &'a ApiKeyId,
    /// Whose it is.
    pub account: &'a AccountId,
    /// Its name.
    pub name: &'a str,
    /// Its public half.
    pub prefix: &'a str,
    /// The hash of its raw form.
    pub hash: &'a TokenHash,
    /// What it may be used for.
    pub scopes: ScopeSet,
    /// When it ends.
    pub expires: Option<UnixMillis>,
    /// When it was made.
    pub created: UnixMillis,
}

/// Stores a key.
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

/// The key with this public half, also one whose owner is suspended.
pub async fn find_by_prefix(tx: &mut ReadTx, prefix: &str) -> sqlx::Result<Option<ShownKey>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_PREFIX).bind(prefix).fetch_optional(conn).await)
}

/// The account's keys, revoked and expired ones too, oldest first.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// A key of the account.
pub async fn find(tx: &mut ReadTx, account: &AccountId, id: &str) -> sqlx::Result<Option<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(id).fetch_optional(conn).await)
}

/// A key of the account that may be used, as far as its owner goes: nothing where the account is suspended.
pub async fn find_usable(tx: &mut ReadTx, account: &AccountId, id: &str) -> sqlx::Result<Option<ApiKey>> {
    on!(tx, |conn| sqlx::query_as(FIND_USABLE).bind(account).bind(id).fetch_optional(conn).await)
}

/// How many of the account's keys are neither revoked nor expired.
pub async fn count_alive(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT_ALIVE).bind(account).bind(now).fetch_one(conn).await)
}

/// The names of the account's keys that are neither revoked nor expired, oldest first.
pub async fn names(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(NAMES).bind(account).bind(now).fetch_all(conn).await)
}

/// Changes a key.
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

/// Revokes a key, unless it is.
pub async fn revoke(tx: &mut WriteTx, id: &ApiKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REVOKE).bind(id).bind(now).execute(conn).await)
}

/// Revokes every key of the account that is not revoked, and gives their names.
pub async fn revoke_all(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(REVOKE_ALL).bind(account).bind(now).fetch_all(conn).await)
}

/// Notes that the key was used, unless a later use is noted already.
pub async fn touch(tx: &mut WriteTx, id: &ApiKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH).bind(id).bind(now).execute(conn).await)
}

/// A JSON list of names.
fn stored(scopes: ScopeSet) -> Result<String> {
    serde_json::to_string(&scopes.names()).map_err(Error::internal)
}
