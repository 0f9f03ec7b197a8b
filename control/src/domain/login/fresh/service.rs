//! Checks for recent authentication.
//!
//! Authorization comes before validation: a use case checks the proof of a stale session before it reports errors in the other members. The proof is
//! used up in its own transaction, even if the operation fails. Operations lock their own rows, such as the app's, before `accounts` rows, so one
//! shared transaction could deadlock.

use serde_json::json;
use shared::FieldErrors;
use shared::time::UnixMillis;

use crate::domain::access::freshness::{self, NEEDED};
use crate::domain::access::{DashboardSession, LoginSession, SignedIn};
use crate::domain::accounts::{Password, repo as accounts};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::access_keys;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::login::service as login;
use crate::domain::second_factors::{self as mfa, Proof, step_up};

/// Checks that the caller may grant lasting access. A stale session needs the proof, which is then used up; otherwise the proof is ignored. Errors: 403
/// with `reauth_required`, and a wrong proof is counted; 429 after too many wrong proofs.
pub async fn prove(app: &Context, caller: &SignedIn, proof: Option<&Proof>) -> Result<()> {
    if !freshness::is_stale(&mut app.db.read().await?, app, caller, app.now()).await? {
        return Ok(());
    }
    let proof = proof.ok_or(NEEDED)?;
    let session = LoginSession::of(caller).ok_or(NEEDED)?;
    match step_up::begin(app, &session, Some(proof)).await {
        Ok((change, stepped_up)) if stepped_up.were_on() => change.commit_bookkeeping().await,
        Ok(_) | Err(Error::Refused(Refusal::NoStepUp | Refusal::StepUpCodesStopped)) => Err(NEEDED),
        Err(error) => Err(error),
    }
}

/// [`prove`] for a request whose body has nothing but the proof. A stale session gets that error even if its body is invalid.
pub async fn require(app: &Context, caller: &SignedIn, proof: Result<Option<Proof>>) -> Result<()> {
    prove(app, caller, Proof::parsed(&proof)).await?;
    proof.map(drop)
}

/// What a user sends to re-authenticate a session.
pub struct Reauthentication {
    /// The account's password; required if the account has no second factor.
    pub password: Option<Password>,
    /// A second-factor proof; required if the account has a second factor.
    pub proof: Option<Proof>,
}

/// Re-authenticates this session only: with the password, or with a second factor if the account has one. Returns when the freshness expires. Field
/// errors are reported only after the session is known to be valid. Errors: 400; 401 and 429 as for a login if the password is wrong; 403 with
/// `step_up_required` if the account's second-factor proof is missing or wrong; 409.
pub async fn reauthenticate(
    app: &Context,
    caller: &DashboardSession,
    reauthentication: Result<Reauthentication, FieldErrors>,
) -> Result<UnixMillis> {
    // A session that was revoked while the body arrived must not be able to guess passwords.
    caller.recheck(&mut app.db.read().await?, app).await?;
    let Reauthentication { password, proof } = reauthentication?;
    let has_second_factor = mfa::is_enabled(&mut app.db.read().await?, caller.account()).await?;
    let mut change = if has_second_factor {
        by_second_factor(app, caller, proof.as_ref()).await?
    } else {
        let password = password.ok_or_else(|| Error::invalid("password", "is required"))?;
        by_password(app, caller, &password).await?
    };
    let now = change.now();
    access_keys::repo::reauthenticate(&mut change, caller.account(), caller.credential(), now).await?;
    change.commit(Event::new(Action::Reauthenticate, caller.credential()).with(json!({ "secondFactor": has_second_factor }))).await?;
    Ok(now.plus_millis(app.settings.limits.sessions.freshness))
}

async fn by_second_factor<'c>(app: &'c Context, caller: &DashboardSession, proof: Option<&Proof>) -> Result<Change<'c>> {
    let (change, stepped_up) = step_up::begin(app, caller, proof).await?;
    // The last factor was removed concurrently, so the proof proves nothing.
    if stepped_up.were_on() { Ok(change) } else { Err(changed_meanwhile()) }
}

async fn by_password<'c>(app: &'c Context, caller: &DashboardSession, password: &str) -> Result<Change<'c>> {
    let proven = login::confirm(app, caller.from(), caller.email(), password).await?;
    let mut change = caller.begin_holding_account(app).await?;
    // A second factor may have been added, or the password changed, since the comparison.
    let has_changed = mfa::is_enabled(&mut change, caller.account()).await?
        || accounts::replace_password(&mut change, caller.account(), &proven, &proven).await? == 0;
    if has_changed { Err(changed_meanwhile()) } else { Ok(change) }
}

fn changed_meanwhile() -> Error {
    Error::Conflict(Conflict::AccountChanged)
}
