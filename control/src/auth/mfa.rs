//! Second factors. There are none yet, so that every account is without.

use shared::ids::AccountId;

use crate::db::ReadTx;

/// Whether the account has a second factor.
pub fn is_enabled(_tx: &mut ReadTx, _account: &AccountId) -> bool {
    false
}
