//! An account locked by one transaction, which alone may try or change its second factors.
//!
//! Failures of all kinds of proof count together. A success clears none of them: otherwise an attacker could continue each time the owner signs in.
//! In addition, 100 consecutive failures, without a success in between, block the account's codes; passkeys, which cannot be guessed, still work.

use shared::ids::AccountId;

use super::factors::{self, Factors};
use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::{Error, RateLimit, Result};
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::traces::Warning;
use crate::domain::traces::{self, Event, Trace};
use crate::infra::db::WriteTx;

/// An account that is locked until the transaction ends, with its counted attempts.
#[derive(Debug)]
pub struct LockedAccount {
    account: AccountId,
    email: String,
    factors: Factors,
    attempts: Count,
    from: ClientAddress,
}

impl LockedAccount {
    /// Locks the account's attempts, then the account. Lock client addresses and email addresses before. The clean-up deletes a row that counts
    /// nothing. Errors: 401 if the account no longer exists.
    pub async fn lock(tx: &mut WriteTx, app: &Context, account: &AccountId, from: ClientAddress) -> Result<Self> {
        let attempts = Count::lock(tx, Limit::MfaAttempts, &Subject::account(account), app.now()).await?;
        let email = accounts::repo::hold(tx, account).await?.ok_or(Error::Unauthenticated)?.email;
        Ok(Self { account: account.clone(), email, factors: factors::find(tx, account).await?, attempts, from })
    }

    /// The account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// Its email address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The client address of the request.
    pub fn from(&self) -> ClientAddress {
        self.from
    }

    /// The factors it had when it was locked.
    pub fn factors(&self) -> &Factors {
        &self.factors
    }

    /// Refuses an attempt, even a correct one, after too many failures. Errors: 429 with `retryAfterSeconds`.
    pub fn check_limit(&self, app: &Context) -> Result<()> {
        match self.attempts.times().wait(app.settings.limits.unauthenticated.mfa_attempts, app.now()) {
            Some(seconds) => {
                traces::refused(app, self.from, Limit::MfaAttempts.as_str(), Some(&self.account));
                Err(Error::TooMany { limit: RateLimit::FailedFactors, retry_after: seconds })
            }
            None => Ok(()),
        }
    }

    /// Whether the account's codes may be tried: not after too many consecutive failures, even if the code is correct. Logs the refusal.
    pub fn allows_codes(&self, app: &Context) -> bool {
        let are_blocked = self.factors.codes_are_stopped();
        if are_blocked {
            traces::refused(app, self.from, "failed_factors", Some(&self.account));
        }
        !are_blocked
    }

    /// Counts a failure and commits, including what the failed attempt used up. Nothing else may have been changed in the transaction.
    pub async fn fail(self, mut tx: WriteTx, app: &Context, event: Event, outcome: &'static str) -> Result<()> {
        let failure = self.count_failure(&mut tx, app).await?;
        tx.commit().await?;
        failure.report(app, event, outcome);
        Ok(())
    }

    /// Counts a failure; report it after the commit.
    pub async fn count_failure(self, tx: &mut WriteTx, app: &Context) -> Result<Failure> {
        self.attempts.add(tx, app.settings.limits.unauthenticated.mfa_attempts, app.now()).await?;
        let is_last = accounts::repo::count_failed_factor(tx, &self.account).await?;
        Ok(Failure { account: self.account, from: self.from, is_last })
    }
}

/// A failure that was counted.
#[derive(Debug)]
pub struct Failure {
    account: AccountId,
    from: ClientAddress,
    /// Whether it blocked the account's codes.
    is_last: bool,
}

impl Failure {
    /// Logs it, and warns the owner if it blocked the account's codes.
    pub fn report(self, app: &Context, event: Event, outcome: &'static str) {
        traces::fail(app, Trace { event, outcome, account: Some(&self.account), from: self.from });
        if self.is_last {
            traces::warn(app, &self.account, Warning::CodesStopped, self.from);
        }
    }
}
