//! SQL of logins.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::email::former;
use crate::infra::db::{ReadTx, WriteTx};
use crate::on;

// An earlier version may have stored the second spelling.
const FIND_ACCOUNT: &str =
    "SELECT id, password_hash FROM accounts WHERE email IN ($1, $2) ORDER BY CASE WHEN email = $1 THEN 0 ELSE 1 END LIMIT 1";
const FIND_PENDING: &str =
    "SELECT password_hash FROM registrations WHERE email = $1 AND created_time > $2 ORDER BY created_time DESC LIMIT 1";
const FIX_DEADLINE: &str =
    "UPDATE accounts SET mfa_setup_deadline = COALESCE(mfa_setup_deadline, $2) WHERE id = $1 RETURNING mfa_setup_deadline";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND_ACCOUNT, FIND_PENDING, FIX_DEADLINE];

/// The account with this address, and the hash of its password.
pub async fn find_account(tx: &mut ReadTx, email: &str) -> sqlx::Result<Option<(AccountId, String)>> {
    on!(tx, |conn| sqlx::query_as(FIND_ACCOUNT).bind(email).bind(former(email).as_ref()).fetch_optional(conn).await)
}

/// The hash of the password of the address's newest registration, or decoy of one, that was made after `since`.
pub async fn find_pending(tx: &mut ReadTx, email: &str, since: UnixMillis) -> sqlx::Result<Option<String>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_PENDING).bind(email).bind(since).fetch_optional(conn).await)
}

/// Until when the account may be without a second factor: `deadline`, unless it was fixed before.
pub async fn fix_deadline(tx: &mut WriteTx, account: &AccountId, deadline: UnixMillis) -> sqlx::Result<UnixMillis> {
    on!(tx, |conn| sqlx::query_scalar(FIX_DEADLINE).bind(account).bind(deadline).fetch_one(conn).await)
}
