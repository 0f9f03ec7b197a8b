//! Second factors: authenticator apps, passkeys, and the recovery codes beside them.
//!
//! An account has them on as soon as it has an authenticator app or a passkey, and off when the last of them goes: nothing says so but those rows
//! ([`factors`]). A login then waits for one of them ([`crate::domain::login::pending`]), and whoever changes the factors shows one again ([`step_up`]).
//! Whoever tries a factor, or changes one, first holds the account ([`Held`]), so that of two at once one comes after the other.
//!
//! What leads to a first factor, a right password, is [`crate::domain::login`]'s. Start reading at [`factors`] and [`held`].

pub mod factors;
pub mod held;
pub mod new_credentials;
pub mod passkeys;
pub mod recovery;
pub mod step_up;
pub mod totp;

pub use factors::Factors;
pub use held::Held;
pub use new_credentials::NewCredentials;
pub use step_up::{Proof, SteppedUp};

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::domain::access::{DashboardSession, freshness};
use crate::domain::context::Context;
use crate::domain::error::AppResult;
use crate::infra::db::ReadTx;

/// Whether the account has a second factor.
pub async fn is_enabled(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<bool> {
    Ok(factors::find(tx, account).await?.are_on())
}

/// Whether the account is without a second factor although its time to set one up is over.
pub async fn is_overdue(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<bool> {
    if is_enabled(tx, account).await? {
        return Ok(false);
    }
    Ok(factors::deadline(tx, account).await?.is_some_and(|deadline| now > deadline))
}

/// Refuses to begin an account's first factor in a session that is not fresh; an account that has one shows it when the next is confirmed. Since the last one
/// may go in between, a first factor is asked again when it is confirmed, by [`freshness::check_at`]. Errors: 403 with `reauth_required`.
pub async fn check_first(tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> AppResult<()> {
    if is_enabled(tx, caller.account()).await? { Ok(()) } else { freshness::check(tx, app, caller).await }
}

/// With which second factor a login was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// An assertion of a passkey.
    Passkey,
    /// A code of an authenticator app.
    Totp,
    /// A recovery code.
    RecoveryCode,
}

impl Factor {
    /// The name in answers and in the audit trail.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passkey => "passkey",
            Self::Totp => "totp",
            Self::RecoveryCode => "recovery_code",
        }
    }
}
