//! An account's second factors.

pub use shared::api::second_factors::Factor;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::passkeys;
use crate::domain::accounts::repo::MAX_FAILED_FACTORS;
use crate::domain::context::Context;
use crate::infra::db::ReadTx;
use crate::on;

const FIND: &str = "SELECT (SELECT COUNT(*) FROM passkeys WHERE account_id = $1) AS passkeys, \
    (SELECT COUNT(*) FROM authenticators WHERE account_id = $1) AS authenticators, \
    (SELECT COUNT(*) FROM recovery_codes WHERE account_id = $1) AS recovery_codes, \
    COALESCE((SELECT failed_factors FROM accounts WHERE id = $1), 0) AS failures";
const DEADLINE: &str = "SELECT mfa_setup_deadline FROM accounts WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, DEADLINE];

/// How many factors an account has of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Factors {
    /// Passkeys.
    pub passkeys: i64,
    /// Confirmed authenticator apps: at most one.
    pub authenticators: i64,
    /// Unused recovery codes; they are no factor of their own.
    pub recovery_codes: i64,
    /// Failures since the last success.
    failures: i64,
}

impl Factors {
    /// Whether a login needs a second factor.
    pub fn are_on(&self) -> bool {
        self.passkeys > 0 || self.authenticators > 0
    }

    /// Whether too many consecutive failures have blocked authenticator app codes and recovery codes, until a password reset or the operator's
    /// unlock.
    pub fn codes_are_stopped(&self) -> bool {
        self.failures >= MAX_FAILED_FACTORS
    }

    /// The methods that can complete a login now, in the order to offer them. Passkeys are left out where they are not configured.
    pub fn methods(&self, app: &Context) -> Vec<Factor> {
        let allows_codes = !self.codes_are_stopped();
        let usable = [
            (Factor::Passkey, self.passkeys > 0 && passkeys::is_configured(app)),
            (Factor::Totp, allows_codes && self.authenticators > 0),
            (Factor::RecoveryCode, allows_codes && self.are_on() && self.recovery_codes > 0),
        ];
        usable.into_iter().filter(|(_, is_usable)| *is_usable).map(|(factor, _)| factor).collect()
    }
}

/// Reads the account's factors.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Factors> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).fetch_one(conn).await)
}

/// The account's factors in words for its owner: the authenticator app, each passkey by name, the number of recovery codes left.
pub async fn names(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<String>> {
    let factors = find(tx, account).await?;
    let mut names: Vec<String> = (0..factors.authenticators).map(|_| "Authenticator app".to_owned()).collect();
    names.extend(passkeys::repo::list(tx, account).await?.into_iter().map(|passkey| format!("Passkey {}", passkey.name)));
    match factors.recovery_codes {
        codes if codes <= 0 || !factors.are_on() => {}
        1 => names.push("1 recovery code".to_owned()),
        codes => names.push(format!("{codes} recovery codes")),
    }
    Ok(names)
}

/// The account's factors and, if there are none, the deadline for setting one up.
pub async fn overview(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<(Factors, Option<UnixMillis>)> {
    let found = find(tx, account).await?;
    let deadline = if found.are_on() { None } else { deadline(tx, account).await? };
    Ok((found, deadline))
}

/// The account's deadline for setting up a second factor, if it has been set.
pub async fn deadline(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<UnixMillis>> {
    let deadline: Option<Option<UnixMillis>> = on!(tx, |conn| sqlx::query_scalar(DEADLINE).bind(account).fetch_optional(conn).await)?;
    Ok(deadline.flatten())
}

/// Whether the account has a second factor.
pub async fn is_enabled(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<bool> {
    Ok(find(tx, account).await?.are_on())
}

/// Whether the account has no second factor and its deadline has passed.
pub async fn is_overdue(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<bool> {
    if is_enabled(tx, account).await? {
        return Ok(false);
    }
    Ok(deadline(tx, account).await?.is_some_and(|deadline| now > deadline))
}
