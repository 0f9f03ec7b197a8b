//! SQL of logins.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::email::former;
use crate::infra::db::ReadTx;
use crate::on;

// An earlier version may have stored the address in the second form.
const FIND_ACCOUNT: &str =
    "SELECT id, password_hash FROM accounts WHERE email IN ($1, $2) ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const FIND_PENDING: &str =
    "SELECT password_hash FROM registrations WHERE email = $1 AND created_time > $2 ORDER BY created_time DESC LIMIT 1";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_ACCOUNT, FIND_PENDING];

/// Finds the account with this address, and its password hash.
pub async fn find_account(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<(AccountId, String)>> {
    on!(tx, |conn| sqlx::query_as(FIND_ACCOUNT).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// Finds the password hash of the address's newest registration (or decoy) created after `since`.
pub async fn find_pending(tx: &mut ReadTx, email: &str, since: UnixMillis) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_PENDING).bind(email).bind(since).fetch_optional(conn).await)
}
