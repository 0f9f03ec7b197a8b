//! What second factors an account has.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::passkeys;
use crate::domain::context::Context;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const FIND: &str = "SELECT (SELECT COUNT(*) FROM passkeys WHERE account_id = $1) AS passkeys, \
    (SELECT COUNT(*) FROM authenticators WHERE account_id = $1) AS authenticators, \
    (SELECT COUNT(*) FROM recovery_codes WHERE account_id = $1) AS recovery_codes, \
    COALESCE((SELECT failed_factors FROM accounts WHERE id = $1), 0) AS failures";
// None beyond those that stop the codes: that lasts until somebody ends it.
const COUNT_FAILURE: &str =
    "UPDATE accounts SET failed_factors = failed_factors + 1 WHERE id = $1 AND failed_factors < $2 RETURNING failed_factors";
const FORGIVE: &str = "UPDATE accounts SET failed_factors = 0 WHERE id = $1 AND failed_factors > 0 AND failed_factors < $2";
const RESTART: &str = "UPDATE accounts SET failed_factors = 0 WHERE id = $1 AND failed_factors > 0";
const DEADLINE: &str = "SELECT mfa_setup_deadline FROM accounts WHERE id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, COUNT_FAILURE, FORGIVE, RESTART, DEADLINE];

/// Failed factors in a row that stop an account's codes.
const MOST_FAILURES: i64 = 100;

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

/// How many factors an account has of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Factors {
    /// Passkeys.
    pub passkeys: i64,
    /// Confirmed authenticator apps: one at most.
    pub authenticators: i64,
    /// Recovery codes that were not used; they are no factor of their own.
    pub recovery_codes: i64,
    /// Failed factors since the last success.
    failures: i64,
}

impl Factors {
    /// Whether a login needs a second factor.
    pub fn are_on(&self) -> bool {
        self.passkeys > 0 || self.authenticators > 0
    }

    /// Whether too many failures in a row have stopped codes of the authenticator app and recovery codes, until a password reset or the operator.
    pub fn codes_are_stopped(&self) -> bool {
        self.failures >= MOST_FAILURES
    }

    /// What a login can be completed with right now, in the order in which to offer it. A passkey is of no use where passkeys are not configured.
    pub fn methods(&self, app: &Context) -> Vec<&'static str> {
        let takes_codes = !self.codes_are_stopped();
        let usable = [
            (Factor::Passkey, self.passkeys > 0 && passkeys::is_configured(app)),
            (Factor::Totp, takes_codes && self.authenticators > 0),
            (Factor::RecoveryCode, takes_codes && self.are_on() && self.recovery_codes > 0),
        ];
        usable.into_iter().filter(|(_, is_usable)| *is_usable).map(|(factor, _)| factor.as_str()).collect()
    }
}

/// What the account has.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Factors> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).fetch_one(conn).await)
}

/// Counts a failed factor; whether it is the one that stops the account's codes. The account is held.
pub async fn count_failure(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<bool> {
    let counted: Option<i64> =
        on!(tx, |conn| sqlx::query_scalar(COUNT_FAILURE).bind(account).bind(MOST_FAILURES).fetch_optional(conn).await)?;
    Ok(counted == Some(MOST_FAILURES))
}

/// Forgets failures in a row, for a factor that was right. It does not end a stop. The account is held.
pub async fn forgive(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(FORGIVE).bind(account).bind(MOST_FAILURES).execute(conn).await)
}

/// Forgets failures and ends a stop. The account is held.
pub async fn restart(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RESTART).bind(account).execute(conn).await)
}

/// What the account has, in words for its owner: the authenticator app, each passkey by its name, the recovery codes that are left.
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

/// What the account has and, where that is nothing, until when it may be without.
pub async fn overview(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<(Factors, Option<UnixMillis>)> {
    let found = find(tx, account).await?;
    let deadline = if found.are_on() { None } else { deadline(tx, account).await? };
    Ok((found, deadline))
}

/// Until when the account may be without a second factor, when that was fixed.
pub async fn deadline(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<UnixMillis>> {
    let deadline: Option<Option<UnixMillis>> = on!(tx, |conn| sqlx::query_scalar(DEADLINE).bind(account).fetch_optional(conn).await)?;
    Ok(deadline.flatten())
}

/// Whether the account has a second factor.
pub async fn is_enabled(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<bool> {
    Ok(find(tx, account).await?.are_on())
}

/// Whether the account is without a second factor although its time to set one up is over.
pub async fn is_overdue(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<bool> {
    if is_enabled(tx, account).await? {
        return Ok(false);
    }
    Ok(deadline(tx, account).await?.is_some_and(|deadline| now > deadline))
}
