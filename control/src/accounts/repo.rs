//! SQL of accounts.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO accounts (id, email, name, password_hash, email_verified, max_upload_bytes, created_time) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const FIND_BY_EMAIL: &str = "SELECT id FROM accounts WHERE email = $1";
const COUNT: &str = "SELECT COUNT(*) FROM accounts";
const MAX_UPLOAD_BYTES: &str = "SELECT max_upload_bytes FROM accounts WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, FIND_BY_EMAIL, COUNT, MAX_UPLOAD_BYTES];

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
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
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
        .bind(true)
        .bind(account.max_upload_bytes)
        .bind(account.created)
        .execute(conn)
        .await)
}

/// The account with this address.
pub async fn find_by_email(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_BY_EMAIL).bind(email).fetch_optional(conn).await)
}

/// How many accounts there are.
pub async fn count(tx: &mut ReadTx) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(COUNT).fetch_one(conn).await)
}

/// The largest bundle that the account's apps take, in bytes.
pub async fn max_upload_bytes(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(MAX_UPLOAD_BYTES).bind(account).fetch_optional(conn).await)
}
