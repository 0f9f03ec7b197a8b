//! An account whose second factors one transaction alone may try or change.
//!
//! Failures are counted, of all kinds of proof together. A success forgives none of them: else whoever guesses could go on each time the owner signs in.
//! Beside that, 100 failures in a row, with no success between them, stop the account's codes; passkeys, which nobody guesses, go on.

use shared::ids::AccountId;

use super::factors::{self, Factors};
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::{Error, RateLimit, Result};
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::traces::Warning;
use crate::domain::traces::{self, Event, Trace};
use crate::infra::db::WriteTx;
use crate::on;

// Locks the row until the transaction ends, as a new password or a deletion does.
const HOLD: &str = "SELECT email FROM accounts WHERE id = $1 FOR NO KEY UPDATE";

/// Every statement of this file.
pub const SQL: &[&str] = &[HOLD];

/// An account that is locked until the transaction ends, with what was counted of its attempts.
#[derive(Debug)]
pub struct Held {
    account: AccountId,
    email: String,
    factors: Factors,
    attempts: Count,
    from: ClientAddress,
}

impl Held {
    /// Locks the account's attempts and then the account. Locks of client addresses and e-mail addresses come before. A row that counts nothing is left
    /// to the clean-up. Errors: 401 when the account is gone.
    pub async fn lock(tx: &mut WriteTx, app: &Context, account: &AccountId, from: ClientAddress) -> Result<Self> {
        let attempts = Count::lock(tx, Limit::MfaAttempts, &Subject::account(account), app.now()).await?;
        let hold = tx.locking(HOLD);
        let email: Option<String> = on!(tx, |conn| sqlx::query_scalar(hold).bind(account).fetch_optional(conn).await)?;
        let email = email.ok_or(Error::Unauthenticated)?;
        Ok(Self { account: account.clone(), email, factors: factors::find(tx, account).await?, attempts, from })
    }

    /// The account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// Its e-mail address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// From where it is tried or changed.
    pub fn from(&self) -> ClientAddress {
        self.from
    }

    /// The factors that it had when it was locked.
    pub fn factors(&self) -> &Factors {
        &self.factors
    }

    /// Refuses a try when there were too many failures, however right it is. Errors: 429 with `retryAfterSeconds`.
    pub fn check_limit(&self, app: &Context) -> Result<()> {
        match self.attempts.times().wait(app.settings.limits.strangers.mfa_attempts, app.now()) {
            Some(seconds) => {
                traces::refused(app, self.from, Limit::MfaAttempts.as_str(), Some(&self.account));
                Err(Error::TooMany { limit: RateLimit::FailedFactors, retry_after: seconds })
            }
            None => Ok(()),
        }
    }

    /// Whether codes of this account may be tried: not after too many failures in a row, however right the code is. Notes the refusal.
    pub fn takes_codes(&self, app: &Context) -> bool {
        let are_stopped = self.factors.codes_are_stopped();
        if are_stopped {
            traces::refused(app, self.from, "failed_factors", Some(&self.account));
        }
        !are_stopped
    }

    /// Counts a failure and commits: also what the failed try used up. Nothing else may have been changed in the transaction.
    pub async fn fail(self, mut tx: WriteTx, app: &Context, event: Event, outcome: &'static str) -> Result<()> {
        self.attempts.add(&mut tx, app.settings.limits.strangers.mfa_attempts, app.now()).await?;
        let is_last = factors::count_failure(&mut tx, &self.account).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event, outcome, account: Some(&self.account), from: self.from });
        if is_last {
            traces::warn(app, &self.account, Warning::CodesStopped, self.from);
        }
        Ok(())
    }
}
