//! SQL of accounts.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::accounts::settings::AccountLimits;
use crate::domain::email::former;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO accounts (id, email, name, password_hash, email_verified, max_api_keys, retention_days, max_upload_bytes, \
    created_time) VALUES ($1, $2, $3, $4, TRUE, $5, $6, $7, $8)";
// An earlier version may have stored the second spelling.
const FIND_BY_EMAIL: &str = "SELECT id FROM accounts WHERE email IN ($1, $2) ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const FIND: &str = "SELECT email, name, password_hash, email_verified, max_api_keys, retention_days, max_upload_bytes, created_time \
    FROM accounts WHERE id = $1";
const HOLD: &str = "SELECT max_api_keys FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
const FIND_VERIFIED: &str =
    "SELECT id FROM accounts WHERE email IN ($1, $2) AND email_verified ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const RENAME: &str = "UPDATE accounts SET name = $2 WHERE id = $1";
const REPLACE_PASSWORD: &str = "UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2";
const CANCEL_RESETS: &str = "DELETE FROM password_resets WHERE account_id = $1";
const SET_LIMITS: &str = "UPDATE accounts SET max_api_keys = COALESCE($2, max_api_keys), retention_days = COALESCE($3, retention_days), \
    max_upload_bytes = COALESCE($4, max_upload_bytes) WHERE id = $1";
const SUSPEND: &str = "UPDATE accounts SET suspended_time = $2 WHERE id = $1 AND suspended_time IS NULL";
const REINSTATE: &str = "UPDATE accounts SET suspended_time = NULL WHERE id = $1 AND suspended_time IS NOT NULL";
const SUSPENDED: &str = "SELECT COUNT(*) FROM accounts WHERE id = $1 AND suspended_time IS NOT NULL";
const DELETE: &str = "DELETE FROM accounts WHERE id = $1 AND password_hash = $2";
const COUNT: &str = "SELECT COUNT(*) FROM accounts";
const MAX_UPLOAD_BYTES: &str = "SELECT max_upload_bytes FROM accounts WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    INSERT,
    FIND_BY_EMAIL,
    FIND,
    HOLD,
    FIND_VERIFIED,
    RENAME,
    REPLACE_PASSWORD,
    CANCEL_RESETS,
    SET_LIMITS,
    SUSPEND,
    REINSTATE,
    SUSPENDED,
    DELETE,
    COUNT,
    MAX_UPLOAD_BYTES,
];

/// An account.
#[derive(Debug, sqlx::FromRow)]
pub struct AccountRow {
    /// The address, trimmed and in lower case.
    pub email: String,
    /// The display name.
    pub name: Option<String>,
    /// The PHC string.
    pub password_hash: String,
    /// Whether the owner has shown to read mail at the address.
    pub email_verified: bool,
    /// API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// Days of daily history.
    pub retention_days: i64,
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
    /// When it was made.
    pub created_time: UnixMillis,
}

/// An account to be stored.
#[derive(Debug)]
pub struct NewAccountRow<'a> {
    /// Its id.
    pub id: &'a AccountId,
    /// The address, trimmed and in lower case.
    pub email: &'a str,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string.
    pub password_hash: &'a str,
    /// What it may have.
    pub limits: AccountLimits,
    /// When it was made.
    pub created: UnixMillis,
}

/// Stores a verified account.
pub async fn insert(tx: &mut WriteTx, account: &NewAccountRow<'_>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(account.id)
        .bind(account.email)
        .bind(account.name)
        .bind(account.password_hash)
        .bind(i64::from(account.limits.api_keys))
        .bind(i64::from(account.limits.retention_days))
        .bind(i64::try_from(account.limits.upload_bytes).unwrap_or(i64::MAX))
        .bind(account.created)
        .execute(conn)
        .await)
}

/// The account with this address.
pub async fn find_by_email(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_BY_EMAIL).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// How many accounts there are.
pub async fn count(tx: &mut ReadTx) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT).fetch_one(conn).await)
}

/// The largest bundle that the account's apps take, in bytes.
pub async fn max_upload_bytes(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(MAX_UPLOAD_BYTES).bind(account).fetch_optional(conn).await)
}

/// One account.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<AccountRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).fetch_optional(conn).await)
}

/// Makes whoever else changes the account, its credentials, or which apps it reaches, wait for this transaction's end, and gives how many API keys the
/// account may have; none when there is no such account. It comes before anything that locks a credential's row; several accounts are locked in the
/// order of their ids.
pub async fn hold(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<Option<i64>> {
    let hold = tx.locking(HOLD);
    on!(tx, |conn| sqlx::query_scalar(hold).bind(account).fetch_optional(conn).await)
}

/// The account with this address, if its owner has shown to read mail there.
pub async fn find_verified(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_VERIFIED).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// Gives the account another display name.
pub async fn rename(tx: &mut WriteTx, account: &AccountId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(account).bind(name).execute(conn).await)
}

/// Puts a new password in the place of the one that was proven; 0 rows when another has taken its place since.
pub async fn replace_password(tx: &mut WriteTx, account: &AccountId, proven: &str, new: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REPLACE_PASSWORD).bind(account).bind(proven).bind(new).execute(conn).await)
}

/// Makes the reset tokens that are under way to the owner worthless.
pub async fn cancel_resets(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CANCEL_RESETS).bind(account).execute(conn).await)
}

/// Changes what an account may have; what is `None` stays.
pub async fn set_limits(
    tx: &mut WriteTx,
    account: &AccountId,
    api_keys: Option<u32>,
    retention_days: Option<u32>,
    upload_bytes: Option<u64>,
) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_LIMITS)
        .bind(account)
        .bind(api_keys.map(i64::from))
        .bind(retention_days.map(i64::from))
        .bind(upload_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)))
        .execute(conn)
        .await)
}

/// Suspends an account; 0 rows when it is suspended already.
pub async fn suspend(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SUSPEND).bind(account).bind(now).execute(conn).await)
}

/// Ends a suspension; 0 rows when there is none.
pub async fn reinstate(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REINSTATE).bind(account).execute(conn).await)
}

/// Whether the account is suspended.
pub async fn is_suspended(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<bool> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(SUSPENDED).bind(account).fetch_one(conn).await)?;
    Ok(count > 0)
}

/// Removes an account with its credentials, unless its password is no longer the one that was proven (0 rows). One that owns apps is refused by the
/// database: a foreign key violation.
pub async fn delete(tx: &mut WriteTx, account: &AccountId, proven: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(account).bind(proven).execute(conn).await)
}
