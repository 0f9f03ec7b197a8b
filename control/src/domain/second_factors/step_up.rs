//! Fresh proofs of a factor that the account has already: what must be shown before factors change, or what they guard.
//!
//! A proof is used up by the transaction of what it is for. Recovery codes and passwords are none.

use shared::Invalid;
use shared::api::Field;
use shared::api::second_factors::StepUpProof;
use shared::ids::AccountId;

use super::factors::is_enabled;
use super::passkeys::Answer;
use super::{Held, factors, passkeys, totp};
use crate::domain::access::{DashboardSession, LoginSession, freshness};
use crate::domain::audit::ClientAddress;
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::traces::Event;
use crate::infra::db::ReadTx;

const NEEDED: Error = Error::Refused(Refusal::NoStepUp);

/// A proof as it was sent.
#[derive(Clone, Debug)]
pub enum Proof {
    /// A code of the authenticator app.
    Totp(String),
    /// An authentication response of a passkey.
    Passkey(Answer),
    /// Something that is no proof, such as a recovery code.
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
    /// The proof in the member `stepUp`, if there is one. Errors: what is wrong with its form; whether it proves anything is judged later.
    pub fn judge(step_up: Field<StepUpProof>) -> Result<Option<Self>, Invalid> {
        Ok(step_up.optional()?.map(Self::from))
    }

    /// The same for what is judged before the other members; what is wrong with its form is told with theirs.
    pub fn early(step_up: &Field<StepUpProof>) -> Option<Self> {
        Self::judge(step_up.clone()).ok().flatten()
    }
}

/// An account whose factors the caller may change in this transaction: it has shown one of them, or there are none. Only this file makes one.
#[derive(Debug)]
pub struct SteppedUp(Held);

impl SteppedUp {
    /// The account.
    pub fn account(&self) -> &AccountId {
        self.0.account()
    }

    /// Its e-mail address.
    pub fn email(&self) -> &str {
        self.0.email()
    }

    /// From where it is changed.
    pub fn from(&self) -> ClientAddress {
        self.0.from()
    }

    /// How many passkeys it had before this transaction.
    pub fn passkeys(&self) -> i64 {
        self.0.factors().passkeys
    }

    /// Whether second factors were on before this transaction, and one was shown.
    pub fn were_on(&self) -> bool {
        self.0.factors().are_on()
    }

    /// Refuses what would try another factor when there were too many failures. Errors: 429.
    pub fn check_limit(&self, app: &Context) -> Result<()> {
        self.0.check_limit(app)
    }

    /// Counts a failure that came after the proof, and commits: the proof is used up, too.
    pub async fn fail(self, change: Change<'_>, outcome: &'static str) -> Result<()> {
        let app = change.context();
        self.0.fail(change.into_tx(), app, Event::SecondFactor, outcome).await
    }
}

/// Refuses a missing proof, and what cannot be one, before anything else costs time; [`begin`] judges it. Errors: 403 with `step_up_required`.
pub async fn look(app: &Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<()> {
    let is_hopeless = matches!(proof, None | Some(Proof::Unfit));
    if is_hopeless && is_enabled(&mut app.db.read().await?, caller.account()).await? { Err(NEEDED) } else { Ok(()) }
}

/// Begins a change in which the caller's account is held, and uses the proof up in it. Where second factors are off there is nothing to prove and
/// whatever was sent is ignored. Errors: 403 with `step_up_required`, and then the failure is counted; 429 after too many of them.
pub async fn begin<'c>(app: &'c Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<(Change<'c>, SteppedUp)> {
    look(app, caller, proof).await?;
    let mut tx = app.db.write().await?;
    let held = Held::lock(&mut tx, app, caller.account(), caller.from()).await?;
    // The body may have come slowly: what ended the session meanwhile has ended it before this.
    caller.judge(&mut tx, app).await?;
    if !held.factors().are_on() {
        return Ok((Change::over(app, tx, caller.actor()), SteppedUp(held)));
    }
    let (is_proven, outcome) = match proof {
        None | Some(Proof::Unfit) => return Err(NEEDED),
        Some(Proof::Totp(code)) => {
            held.check_limit(app)?;
            if !held.takes_codes(app) {
                return Err(Error::Refused(Refusal::StepUpCodesStopped));
            }
            (totp::service::use_code(&mut tx, app, held.account(), code).await?, "wrong_totp")
        }
        Some(Proof::Passkey(response)) => {
            held.check_limit(app)?;
            (passkeys::verify_step_up(&mut tx, app, held.account(), caller.credential(), response).await?, "wrong_passkey")
        }
    };
    if is_proven {
        factors::forgive(&mut tx, held.account()).await?;
        return Ok((Change::over(app, tx, caller.actor()), SteppedUp(held)));
    }
    held.fail(tx, app, Event::StepUp, outcome).await?;
    Err(NEEDED)
}

/// Refuses to begin an account's first factor in a session that is not fresh; an account that has one shows it when the next is confirmed. Since the last one
/// may go in between, a first factor is asked again when it is confirmed, by [`freshness::check_at`]. Errors: 403 with `reauth_required`.
pub async fn check_first(tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> Result<()> {
    if is_enabled(tx, caller.account()).await? { Ok(()) } else { freshness::check(tx, app, caller).await }
}
