//! Step-up: a fresh proof of an existing factor, required before factors change and for other sensitive operations.
//!
//! A proof is used up in the transaction of the operation it is for. Recovery codes and passwords are not proofs.

use shared::Invalid;
use shared::api::Field;
use shared::api::second_factors::StepUpProof;
use shared::ids::AccountId;

use super::factors::is_enabled;
use super::passkeys::Answer;
use super::{LockedAccount, passkeys, totp};
use crate::domain::access::{DashboardSession, LoginSession, freshness};
use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::traces::Event;
use crate::infra::db::ReadTx;

const NEEDED: Error = Error::Refused(Refusal::NoStepUp);

/// A proof as it was sent. No `Debug`: it holds the code.
#[derive(Clone)]
pub enum Proof {
    /// A code from the authenticator app.
    Totp(String),
    /// A passkey authentication response.
    Passkey(Answer),
    /// Something that is not a proof, such as a recovery code.
    Unfit,
}

impl From<StepUpProof> for Proof {
    fn from(sent: StepUpProof) -> Self {
        match (sent.kind.as_str(), sent.code, sent.response) {
            ("totp", Some(code), _) => Self::Totp(code),
            ("passkey", _, Some(response)) => Self::Passkey(response.into()),
            _ => Self::Unfit,
        }
    }
}

impl Proof {
    /// Parses the member `stepUp`, if present. Errors: malformed input; the proof itself is verified later.
    pub fn validate(step_up: Field<StepUpProof>) -> Result<Option<Self>, Invalid> {
        Ok(step_up.optional()?.map(Self::from))
    }

    /// The proof among the parts of a request. It is verified before the other parts are validated; malformed input gives `None` here and is reported with
    /// their errors.
    pub fn parsed<E>(part: &Result<Option<Self>, E>) -> Option<&Self> {
        part.as_ref().ok()?.as_ref()
    }

    /// [`Self::parsed`] for a member whose errors are reported with those of its body.
    pub fn early(step_up: &Field<StepUpProof>) -> Option<Self> {
        Self::validate(step_up.clone()).ok().flatten()
    }
}

/// An account whose factors the caller may change in this transaction: the caller has proven one of them, or there are none. Only this file creates
/// one.
#[derive(Debug)]
pub struct SteppedUp(LockedAccount);

impl SteppedUp {
    /// The account.
    pub fn account(&self) -> &AccountId {
        self.0.account()
    }

    /// Its email address.
    pub fn email(&self) -> &str {
        self.0.email()
    }

    /// The client address of the request.
    pub fn from(&self) -> ClientAddress {
        self.0.from()
    }

    /// The number of passkeys before this transaction.
    pub fn passkeys(&self) -> i64 {
        self.0.factors().passkeys
    }

    /// Whether second factors were on before this transaction, and one was proven.
    pub fn were_on(&self) -> bool {
        self.0.factors().are_on()
    }

    /// Refuses another attempt after too many failures. Errors: 429.
    pub fn check_limit(&self, app: &Context) -> Result<()> {
        self.0.check_limit(app)
    }

    /// Counts a failure after the proof was accepted, and commits: the proof is used up too.
    pub async fn fail(self, change: Change<'_>, outcome: &'static str) -> Result<()> {
        let (app, mut change) = (change.context(), change);
        let failure = self.0.count_failure(&mut change, app).await?;
        change.commit_bookkeeping().await?;
        failure.report(app, Event::SecondFactor, outcome);
        Ok(())
    }
}

/// Refuses a missing or unusable proof early, before expensive work; [`begin`] verifies it. Errors: 403 with `step_up_required`.
pub async fn look(app: &Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<()> {
    let is_unusable = matches!(proof, None | Some(Proof::Unfit));
    if is_unusable && is_enabled(&mut app.db.read().await?, caller.account()).await? { Err(NEEDED) } else { Ok(()) }
}

/// Begins a change with the caller's account locked, and uses up the proof in it. If second factors are off, there is nothing to prove, and a proof
/// is ignored. Errors: 403 with `step_up_required`, and a wrong proof is counted; 429 after too many failures.
pub async fn begin<'c>(app: &'c Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<(Change<'c>, SteppedUp)> {
    look(app, caller, proof).await?;
    let mut tx = app.db.write().await?;
    let locked = LockedAccount::lock(&mut tx, app, caller.account(), caller.from()).await?;
    // The body may have arrived slowly: check that the session has not ended meanwhile.
    caller.recheck(&mut tx, app).await?;
    if !locked.factors().are_on() {
        return Ok((caller.change_in(app, tx), SteppedUp(locked)));
    }
    let (is_proven, outcome) = match proof {
        None | Some(Proof::Unfit) => return Err(NEEDED),
        Some(Proof::Totp(code)) => {
            locked.check_limit(app)?;
            if !locked.allows_codes(app) {
                return Err(Error::Refused(Refusal::StepUpCodesStopped));
            }
            (totp::service::use_code(&mut tx, app, locked.account(), code).await?, "wrong_totp")
        }
        Some(Proof::Passkey(response)) => {
            locked.check_limit(app)?;
            (passkeys::verify_step_up(&mut tx, app, locked.account(), caller.credential(), response).await?, "wrong_passkey")
        }
    };
    if is_proven {
        accounts::repo::forgive_factors(&mut tx, locked.account()).await?;
        return Ok((caller.change_in(app, tx), SteppedUp(locked)));
    }
    locked.fail(tx, app, Event::StepUp, outcome).await?;
    Err(NEEDED)
}

/// Refuses to set up an account's first factor in a session that is not fresh. An account that has a factor proves it when the new one is confirmed.
/// The last factor may be removed in between, so [`freshness::check_at`] checks a first factor again when it is confirmed. Errors: 403 with
/// `reauth_required`.
pub async fn check_first(tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> Result<()> {
    if is_enabled(tx, caller.account()).await? { Ok(()) } else { freshness::check(tx, app, caller).await }
}
