//! Second factors. There are none yet, so that every account is without.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::db::ReadTx;
use crate::on;

const DEADLINE: &str = "SELECT mfa_setup_deadline FROM accounts WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[DEADLINE];

/// Whether the account has a second factor.
pub fn is_enabled(_tx: &mut ReadTx, _account: &AccountId) -> bool {
    false
}

/// Whether the account is without a second factor although its time to set one up is over.
pub async fn is_overdue(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<bool> {
    if is_enabled(tx, account) {
        return Ok(false);
    }
    let deadline: Option<Option<UnixMillis>> = on!(tx, |conn| sqlx::query_scalar(DEADLINE).bind(account).fetch_optional(conn).await)?;
    Ok(deadline.flatten().is_some_and(|deadline| now > deadline))
}
