//! SQL of accounts.

use std::collections::{BTreeSet, HashMap};

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::accounts::settings::AccountLimits;
use crate::domain::email::former;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO accounts (id, email, name, password_hash, email_verified, max_api_keys, retention_days, max_upload_bytes, \
    created_time) VALUES ($1, $2, $3, $4, TRUE, $5, $6, $7, $8)";
// The second spelling is one that an earlier version may have stored.
const EMAILS: &str = "SELECT id, email FROM accounts WHERE id IN ([?])";
const FIND_BY_EMAIL: &str = "SELECT id FROM accounts WHERE email IN ($1, $2) ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const FIND: &str = "SELECT email, name, password_hash, email_verified, max_api_keys, retention_days, max_upload_bytes, created_time \
    FROM accounts WHERE id = $1";
const HOLD: &str = "SELECT email, max_api_keys, cli_cancelled_time FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
const FIND_VERIFIED: &str =
    "SELECT id FROM accounts WHERE email IN ($1, $2) AND email_verified ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const RENAME: &str = "UPDATE accounts SET name = $2 WHERE id = $1";
const REPLACE_PASSWORD: &str = "UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2";
const SET_LIMITS: &str = "UPDATE accounts SET max_api_keys = COALESCE($2, max_api_keys), retention_days = COALESCE($3, retention_days), \
    max_upload_bytes = COALESCE($4, max_upload_bytes) WHERE id = $1";
const SUSPEND: &str = "UPDATE accounts SET suspended_time = $2 WHERE id = $1 AND suspended_time IS NULL";
const REINSTATE: &str = "UPDATE accounts SET suspended_time = NULL WHERE id = $1 AND suspended_time IS NOT NULL";
const SUSPENDED: &str = "SELECT COUNT(*) FROM accounts WHERE id = $1 AND suspended_time IS NOT NULL";
const DELETE: &str = "DELETE FROM accounts WHERE id = $1 AND password_hash = $2";
const COUNT: &str = "SELECT COUNT(*) FROM accounts";
const CLI_CANCELLED_TIME: &str = "SELECT cli_cancelled_time FROM accounts WHERE id = $1";
const NOTE_CLI_CANCELLED: &str = "UPDATE accounts SET cli_cancelled_time = $2 WHERE id = $1";
const FIX_DEADLINE: &str =
    "UPDATE accounts SET mfa_setup_deadline = COALESCE(mfa_setup_deadline, $2) WHERE id = $1 RETURNING mfa_setup_deadline";
// Stops counting at the failure that blocks the codes: the block lasts until someone ends it.
const COUNT_FAILED_FACTOR: &str =
    "UPDATE accounts SET failed_factors = failed_factors + 1 WHERE id = $1 AND failed_factors < $2 RETURNING failed_factors";
const FORGIVE_FACTORS: &str = "UPDATE accounts SET failed_factors = 0 WHERE id = $1 AND failed_factors > 0 AND failed_factors < $2";
const RESTART_FACTORS: &str = "UPDATE accounts SET failed_factors = 0 WHERE id = $1 AND failed_factors > 0";
const BEGIN_NETWORKS: &str = "UPDATE accounts SET has_networks = TRUE WHERE id = $1 AND NOT has_networks";
const MAX_UPLOAD_BYTES: &str = "SELECT max_upload_bytes FROM accounts WHERE id = $1";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[
    INSERT,
    FIND_BY_EMAIL,
    EMAILS,
    FIND,
    HOLD,
    FIND_VERIFIED,
    RENAME,
    REPLACE_PASSWORD,
    SET_LIMITS,
    SUSPEND,
    REINSTATE,
    SUSPENDED,
    DELETE,
    COUNT,
    MAX_UPLOAD_BYTES,
    CLI_CANCELLED_TIME,
    NOTE_CLI_CANCELLED,
    FIX_DEADLINE,
    COUNT_FAILED_FACTOR,
    FORGIVE_FACTORS,
    RESTART_FACTORS,
    BEGIN_NETWORKS,
];

/// Consecutive failures of second factors that block an account's codes.
pub const MAX_FAILED_FACTORS: i64 = 100;

/// An account.
#[derive(Debug, sqlx::FromRow)]
pub struct AccountRow {
    /// The email, trimmed and lowercase.
    pub email: String,
    /// The display name.
    pub name: Option<String>,
    /// The PHC string.
    pub password_hash: String,
    /// Whether the owner has proven that they receive mail at the address.
    pub email_verified: bool,
    /// Maximum number of API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// Days of daily history.
    pub retention_days: i64,
    /// Maximum bundle size of its apps, in bytes.
    pub max_upload_bytes: i64,
    /// When it was created.
    pub created_time: UnixMillis,
}

/// An account whose row is locked until the transaction ends.
#[derive(Debug, sqlx::FromRow)]
pub struct LockedRow {
    /// Its email.
    pub email: String,
    /// Maximum number of API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    cli_cancelled_time: Option<UnixMillis>,
}

impl LockedRow {
    /// The account cannot decide on CLI authorization requests created at this time or before.
    pub fn cli_cancelled_time(&self) -> UnixMillis {
        self.cli_cancelled_time.unwrap_or(UnixMillis(i64::MIN))
    }
}

/// An account to insert.
#[derive(Debug)]
pub struct NewAccountRow<'a> {
    /// Its ID.
    pub id: &'a AccountId,
    /// The email, trimmed and lowercase.
    pub email: &'a str,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string.
    pub password_hash: &'a str,
    /// Its limits.
    pub limits: AccountLimits,
    /// When it was created.
    pub created: UnixMillis,
}

/// Inserts a verified account.
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

/// The account with this email.
pub async fn find_by_email(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_BY_EMAIL).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// The emails of those of these accounts that exist.
pub async fn emails(tx: &mut ReadTx, accounts: &BTreeSet<AccountId>) -> sqlx::Result<HashMap<AccountId, String>> {
    if accounts.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = tx.listed(EMAILS, accounts.len());
    let rows: Vec<(AccountId, String)> = on!(tx, |conn| {
        let query = accounts.iter().fold(sqlx::query_as(sql).persistent(false), sqlx::query::QueryAs::bind);
        query.fetch_all(conn).await
    })?;
    Ok(rows.into_iter().collect())
}

/// The number of accounts.
pub async fn count(tx: &mut ReadTx) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT).fetch_one(conn).await)
}

/// The maximum bundle size of the account's apps, in bytes.
pub async fn max_upload_bytes(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(MAX_UPLOAD_BYTES).bind(account).fetch_optional(conn).await)
}

/// One account.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<AccountRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).fetch_optional(conn).await)
}

/// Locks the account's row until the transaction ends, against concurrent changes to the account, its credentials or its access to apps. None when
/// there is no such account. Take this lock before any credential's row; lock several accounts in the order of their IDs.
pub async fn hold(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<Option<LockedRow>> {
    let hold = tx.locking(HOLD);
    on!(tx, |conn| sqlx::query_as(hold).bind(account).fetch_optional(conn).await)
}

/// The account with this email, if its owner has proven that they receive mail there.
pub async fn find_verified(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_VERIFIED).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// Changes the account's display name.
pub async fn rename(tx: &mut WriteTx, account: &AccountId, name: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENAME).bind(account).bind(name).execute(conn).await)
}

/// Replaces the password that was proven; 0 rows when it has been replaced since.
pub async fn replace_password(tx: &mut WriteTx, account: &AccountId, proven: &str, new: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REPLACE_PASSWORD).bind(account).bind(proven).bind(new).execute(conn).await)
}

/// Updates the account's limits; `None` keeps the current value.
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

/// Suspends an account; 0 rows when it already is suspended.
pub async fn suspend(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SUSPEND).bind(account).bind(now).execute(conn).await)
}

/// Lifts a suspension; 0 rows when there is none.
pub async fn reinstate(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REINSTATE).bind(account).execute(conn).await)
}

/// Whether the account is suspended.
pub async fn is_suspended(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<bool> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(SUSPENDED).bind(account).fetch_one(conn).await)?;
    Ok(count > 0)
}

/// Deletes an account with its credentials; 0 rows when its password is no longer the one that was proven. For an account that owns apps, the database
/// refuses with a foreign key violation.
pub async fn delete(tx: &mut WriteTx, account: &AccountId, proven: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(account).bind(proven).execute(conn).await)
}

/// The account cannot decide on CLI authorization requests created at this time or before.
pub async fn cli_cancelled_time(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<UnixMillis> {
    let found: Option<Option<UnixMillis>> =
        on!(tx, |conn| sqlx::query_scalar(CLI_CANCELLED_TIME).bind(account).fetch_optional(conn).await)?;
    Ok(found.flatten().unwrap_or(UnixMillis(i64::MIN)))
}

/// Cancels for this account all pending CLI authorization requests. The account must be locked.
pub async fn note_cli_cancelled(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(NOTE_CLI_CANCELLED).bind(account).bind(now).execute(conn).await)
}

/// Returns the account's deadline for setting up a second factor; sets it to `deadline` if it has none.
pub async fn fix_deadline(tx: &mut WriteTx, account: &AccountId, deadline: UnixMillis) -> sqlx::Result<UnixMillis> {
    on!(tx, |conn| sqlx::query_scalar(FIX_DEADLINE).bind(account).bind(deadline).fetch_one(conn).await)
}

/// Counts a failure of a second factor. Returns whether it is the one that blocks the account's codes. The account must be locked.
pub async fn count_failed_factor(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<bool> {
    let counted: Option<i64> =
        on!(tx, |conn| sqlx::query_scalar(COUNT_FAILED_FACTOR).bind(account).bind(MAX_FAILED_FACTORS).fetch_optional(conn).await)?;
    Ok(counted == Some(MAX_FAILED_FACTORS))
}

/// Resets consecutive failures after a correct factor. Does not end a block. The account must be locked.
pub async fn forgive_factors(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGIVE_FACTORS).bind(account).bind(MAX_FAILED_FACTORS).execute(conn).await)
}

/// Resets failures of second factors and ends a block. The account must be locked.
pub async fn restart_factors(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RESTART_FACTORS).bind(account).execute(conn).await)
}

/// Records that networks of the account are remembered from now on; 0 rows when they already are.
pub async fn begin_networks(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(BEGIN_NETWORKS).bind(account).execute(conn).await)
}
