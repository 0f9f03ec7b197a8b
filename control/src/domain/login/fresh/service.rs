//! The rules of fresh proofs.
//!
//! Guards come before validation: [`admit`] judges the proof of a session that is too old before anybody looks at the other members. The proof is used
//! up by a transaction of its own, whatever becomes of the operation. What the operation locks, such as an app, comes before accounts, so both could
//! not be locked in one transaction without a circle.

use std::marker::PhantomData;

use serde_json::json;
use shared::time::UnixMillis;

use super::repo;
use crate::domain::access::{DashboardSession, LoginSession, SignedIn};
use crate::domain::accounts;
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult, Code};
use crate::domain::login::service as login;
use crate::domain::second_factors::{self as mfa, Proof, step_up};
use crate::http::api::reauthentication::Reauthentication;
use crate::http::extract::members;
use crate::infra::db::{ReadTx, WriteTx};
use shared::FieldErrors;

const NEEDED: AppError = AppError::Coded(
    Code::ReauthRequired,
    "your sign-in is not recent enough for this: send your password to POST /v1/auth/reauthenticate and try again, or send stepUp if you have a second factor",
);

/// The right to give lasting access: the caller has shown lately who it is, or is not asked. Only this file makes one.
#[derive(Clone, Copy, Debug)]
pub struct Fresh(PhantomData<()>);

/// Whether the caller is somebody's session whose last proof is, or was then, too old. A session without an origin is treated like one of the dashboard:
/// a person signed in for it, it reaches roles, transfers and deletions of apps, and it is none of the credentials of programs, which are not asked.
async fn is_stale(tx: &mut ReadTx, app: &Context, caller: &SignedIn, at: UnixMillis) -> AppResult<bool> {
    let Some(session) = LoginSession::of(caller).filter(|session| !session.kind().is_cli()) else { return Ok(false) };
    let since = repo::since(tx, session.account(), session.credential()).await?.ok_or(AppError::Unauthenticated)?;
    Ok(since.plus_millis(app.settings.limits.sessions.freshness) < at)
}

/// Refuses a session whose last proof is too old, where the request can hold none. Errors: 403 with `reauth_required`.
pub async fn check(tx: &mut ReadTx, app: &Context, caller: &SignedIn) -> AppResult<()> {
    check_at(tx, app, caller, app.now()).await
}

/// The same for what was begun at a time and may finish later.
pub async fn check_at(tx: &mut ReadTx, app: &Context, caller: &SignedIn, begun: UnixMillis) -> AppResult<()> {
    if is_stale(tx, app, caller, begun).await? { Err(NEEDED) } else { Ok(()) }
}

/// [`check`] before an account's first second factor is begun; an account that has one shows it when the next is confirmed. Since the last one may go in between,
/// a first factor is asked again when it is confirmed, by [`check_at`].
pub async fn check_first_factor(tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> AppResult<()> {
    if mfa::is_enabled(tx, caller.account()).await? { Ok(()) } else { check(tx, app, caller).await }
}

/// The right to give lasting access: of a session that is too old only with this proof, which is then used up. Otherwise the proof is not looked at.
/// Errors: 403 with `reauth_required`, and a wrong proof is counted; 429 after too many of those.
pub async fn prove(app: &Context, caller: &SignedIn, proof: Option<Proof>) -> AppResult<Fresh> {
    if !is_stale(&mut app.db.read().await?, app, caller, app.now()).await? {
        return Ok(Fresh(PhantomData));
    }
    let proof = proof.ok_or(NEEDED)?;
    let session = LoginSession::of(caller).ok_or(NEEDED)?;
    match step_up::begin(app, &session, Some(&proof)).await {
        Ok((tx, held)) if held.were_on() => {
            tx.commit().await?;
            Ok(Fresh(PhantomData))
        }
        Ok(_) | Err(AppError::Coded(Code::StepUpRequired, _)) => Err(NEEDED),
        Err(error) => Err(error),
    }
}

/// [`prove`] for a body with a proof in it. A session that is too old is told so even when its body cannot be read.
pub async fn admit<T>(
    app: &Context,
    caller: &SignedIn,
    body: AppResult<T>,
    proof: impl FnOnce(&T) -> Option<Proof>,
) -> AppResult<(T, Fresh)> {
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

/// Makes this session fresh, and no other: by the password, or by a second factor where the account has one. Gives until when. Errors: 400; 401 and
/// 429 as of a login when the password is wrong; 403 with `step_up_required` without the proof of a second factor that the account has; 409.
pub async fn reauthenticate(
    app: &Context,
    caller: &DashboardSession,
    from: ClientAddress,
    again: &Reauthentication,
) -> AppResult<UnixMillis> {
    // A session that ended while the body came guesses no passwords.
    caller.judge(&mut app.db.read().await?, app).await?;
    let mut errors = FieldErrors::default();
    let password =
        if again.password.is_given() { errors.take("password", members::password(&again.password).map(Some)) } else { Some(None) };
    let proof = errors.take("stepUp", Proof::of(&again.step_up));
    let (Some(password), Some(proof)) = (password, proof) else { return Err(errors.into()) };
    let has_second_factor = mfa::is_enabled(&mut app.db.read().await?, caller.account()).await?;
    let mut tx = if has_second_factor {
        by_second_factor(app, caller, from, proof.as_ref()).await?
    } else {
        let password = password.ok_or_else(|| AppError::invalid("password", "is needed"))?;
        by_password(app, caller, from, password).await?
    };
    let now = app.now();
    repo::renew(&mut tx, caller.account(), caller.credential(), now).await?;
    let event = Event::new(Action::Reauthenticate, caller.credential()).with(json!({ "secondFactor": has_second_factor }));
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    Ok(now.plus_millis(app.settings.limits.sessions.freshness))
}

async fn by_second_factor(app: &Context, caller: &DashboardSession, from: ClientAddress, proof: Option<&Proof>) -> AppResult<WriteTx> {
    let (tx, held) = step_up::begin(app, caller, proof).await?;
    // The last factor went at the same moment, and what was sent proves nothing.
    if held.were_on() { Ok(tx) } else { Err(changed_meanwhile()) }
}

async fn by_password(app: &Context, caller: &DashboardSession, from: ClientAddress, password: &str) -> AppResult<WriteTx> {
    let proven = login::confirm(app, from, caller.email(), password).await?;
    let mut tx = caller.begin_tx_holding_account(app).await?;
    // A second factor may have come, or another password, since it was compared.
    let is_other = mfa::is_enabled(&mut tx, caller.account()).await?
        || accounts::repo::replace_password(&mut tx, caller.account(), &proven, &proven).await? == 0;
    if is_other { Err(changed_meanwhile()) } else { Ok(tx) }
}

fn changed_meanwhile() -> AppError {
    AppError::Conflict("the account was changed at the same moment: try again".to_owned())
}
