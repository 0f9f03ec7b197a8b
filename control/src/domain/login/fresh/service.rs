//! The rules of fresh proofs.
//!
//! Guards come before validation: [`admit`] judges the proof of a session that is too old before anybody looks at the other members. The proof is used
//! up by a transaction of its own, whatever becomes of the operation. What the operation locks, such as an app, comes before accounts, so both could
//! not be locked in one transaction without a circle.

use std::marker::PhantomData;

use serde_json::json;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::freshness::{self, NEEDED};
use crate::domain::access::{DashboardSession, LoginSession, SignedIn};
use crate::domain::accounts::{repo as accounts, strength};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Code, Error, Result};
use crate::domain::login::service as login;
use crate::domain::second_factors::{self as mfa, Proof, step_up};

/// The right to give lasting access: the caller has shown lately who it is, or is not asked. Only this file makes one.
#[derive(Clone, Copy, Debug)]
pub struct Fresh(PhantomData<()>);

/// The right to give lasting access: of a session that is too old only with this proof, which is then used up. Otherwise the proof is not looked at.
/// Errors: 403 with `reauth_required`, and a wrong proof is counted; 429 after too many of those.
pub async fn prove(app: &Context, caller: &SignedIn, proof: Option<Proof>) -> Result<Fresh> {
    if !freshness::is_stale(&mut app.db.read().await?, app, caller, app.now()).await? {
        return Ok(Fresh(PhantomData));
    }
    let proof = proof.ok_or(NEEDED)?;
    let session = LoginSession::of(caller).ok_or(NEEDED)?;
    match step_up::begin(app, &session, Some(&proof)).await {
        Ok((change, held)) if held.were_on() => {
            change.into_tx().commit().await?;
            Ok(Fresh(PhantomData))
        }
        Err(error) if error.code() != Some(Code::StepUpRequired) => Err(error),
        _ => Err(NEEDED),
    }
}

/// [`prove`] for a body with a proof in it. A session that is too old is told so even when its body cannot be read.
pub async fn admit<T>(app: &Context, caller: &SignedIn, body: Result<T>, proof: impl FnOnce(&T) -> Option<Proof>) -> Result<(T, Fresh)> {
    match body {
        Ok(body) => {
            let fresh = prove(app, caller, proof(&body)).await?;
            Ok((body, fresh))
        }
        Err(error) => {
            prove(app, caller, None).await?;
            Err(error)
        }
    }
}

/// What shows again who uses a session.
pub struct Reauthentication {
    /// The account's password; needed without a second factor.
    pub password: Option<String>,
    /// A proof of a second factor; needed when the account has one.
    pub proof: Option<Proof>,
}

/// A password as somebody gives it who has one; whether it is good enough is judged when it is made.
pub fn judge_password(text: String) -> Result<String, Invalid> {
    if (1..=*strength::LENGTH.end()).contains(&text.chars().count()) {
        Ok(text)
    } else {
        Err(Invalid::from("must be 1 to 1000 characters"))
    }
}

/// Makes this session fresh, and no other: by the password, or by a second factor where the account has one. Gives until when. What is wrong with the form
/// of what was shown is told once the session is known to be alive. Errors: 400; 401 and 429 as of a login when the password is wrong; 403 with
/// `step_up_required` without the proof of a second factor that the account has; 409.
pub async fn reauthenticate(app: &Context, caller: &DashboardSession, again: Result<Reauthentication, FieldErrors>) -> Result<UnixMillis> {
    // A session that ended while the body came guesses no passwords.
    caller.judge(&mut app.db.read().await?, app).await?;
    let Reauthentication { password, proof } = again?;
    let has_second_factor = mfa::is_enabled(&mut app.db.read().await?, caller.account()).await?;
    let mut change = if has_second_factor {
        by_second_factor(app, caller, proof.as_ref()).await?
    } else {
        let password = password.ok_or_else(|| Error::invalid("password", "is needed"))?;
        by_password(app, caller, &password).await?
    };
    let now = change.now();
    freshness::renew(&mut change, caller.account(), caller.credential(), now).await?;
    change.commit(Event::new(Action::Reauthenticate, caller.credential()).with(json!({ "secondFactor": has_second_factor }))).await?;
    Ok(now.plus_millis(app.settings.limits.sessions.freshness))
}

async fn by_second_factor<'c>(app: &'c Context, caller: &DashboardSession, proof: Option<&Proof>) -> Result<Change<'c>> {
    let (change, held) = step_up::begin(app, caller, proof).await?;
    // The last factor went at the same moment, and what was sent proves nothing.
    if held.were_on() { Ok(change) } else { Err(changed_meanwhile()) }
}

async fn by_password<'c>(app: &'c Context, caller: &DashboardSession, password: &str) -> Result<Change<'c>> {
    let proven = login::confirm(app, caller.from(), caller.email(), password).await?;
    let mut change = caller.begin_holding_account(app).await?;
    // A second factor may have come, or another password, since it was compared.
    let is_other = mfa::is_enabled(&mut change, caller.account()).await?
        || accounts::replace_password(&mut change, caller.account(), &proven, &proven).await? == 0;
    if is_other { Err(changed_meanwhile()) } else { Ok(change) }
}

fn changed_meanwhile() -> Error {
    Error::Conflict(Conflict::AccountChanged)
}
