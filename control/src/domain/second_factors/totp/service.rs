//! The rules of authenticator apps.

use shared::ids::AccountId;
use subtle::ConstantTimeEq;

use super::repo;
use super::seed::{self, Seed};
use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult};
use crate::domain::login::service::LoggedIn;
use crate::domain::login::{Attempt, fresh};
use crate::domain::second_factors::factors::{self, Changed};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{Factor, Proof, step_up};
use crate::infra::crypto::seal;
use crate::infra::db::WriteTx;

/// How long a seed waits to be confirmed, in milliseconds (decisions section 2).
const SETUP_LIFETIME: i64 = 10 * 60_000;

const WRONG: AppError = AppError::WrongCredentials("the code is wrong, or was used already");
const NOT_FOUND: AppError = AppError::NotFound("authenticator app");

/// What a seed is sealed for; a copy of a row is of no use in another one.
pub fn purpose(account: &str) -> String {
    format!("authenticator/{account}")
}

/// The same for one that is not confirmed yet.
pub fn setup_purpose(account: &str) -> String {
    format!("authenticator-setup/{account}")
}

/// Makes a seed that waits to be confirmed, in the place of an earlier one; the confirmed one stays in force. Errors: 403 with `reauth_required` where it
/// would be the account's first factor and the session is not fresh.
pub async fn set_up(app: &Context, caller: &DashboardSession, from: ClientAddress) -> AppResult<Seed> {
    let bytes = app.dice.bytes::<{ seed::LENGTH }>()?;
    let seed = Seed::new(&bytes, caller.email())?;
    let account = caller.account();
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, &setup_purpose(account.as_str()), &bytes)?;
    let (mut tx, now) = (caller.begin_tx(app).await?, app.now());
    fresh::check_first_factor(&mut tx, app, caller).await?;
    repo::set_up(&mut tx, account, &sealed, now.plus_millis(SETUP_LIFETIME)).await?;
    let event = Event::new(Action::SetUpAuthenticator, account);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    Ok(seed)
}

/// What has become of a seed that the caller was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its codes count.
    InForce,
    /// It waits to be confirmed.
    Waits,
    /// Another waits in its place.
    Replaced,
    /// None waits.
    Gone,
}

/// What has become of a seed, of whose bytes only the caller's own are known to anybody.
pub async fn standing(app: &Context, caller: &DashboardSession, seed: &[u8]) -> AppResult<Standing> {
    let mut tx = app.db.read().await?;
    let (account, keys) = (caller.account(), app.settings.encryption_keys.all());
    let is = |purpose: &str, sealed: &[u8]| -> AppResult<bool> { Ok(seal::open(keys, purpose, sealed)?.ct_eq(seed).into()) };
    if let Some(sealed) = repo::find(&mut tx, account).await?
        && is(&purpose(account.as_str()), &sealed)?
    {
        return Ok(Standing::InForce);
    }
    match repo::find_setup(&mut tx, account, app.now()).await? {
        Some(setup) if is(&setup_purpose(account.as_str()), &setup.sealed)? => Ok(Standing::Waits),
        Some(_) => Ok(Standing::Replaced),
        None => Ok(Standing::Gone),
    }
}

/// Puts the seed in force that waits, by a code of it. Gives recovery codes when this turned second factors on. Errors: 401 for a wrong code, which
/// counts; 403 without the proof of a factor that the account has, or for a first factor that was not begun in time; 409 when no seed waits; 429.
pub async fn confirm(
    app: &Context,
    caller: &DashboardSession,
    from: ClientAddress,
    code: &str,
    proof: Option<&Proof>,
) -> AppResult<Option<Codes>> {
    let (mut tx, held) = step_up::begin(app, caller, proof).await?;
    held.check_limit(app)?;
    let (account, now) = (caller.account(), app.now());
    let waiting = repo::find_setup(&mut tx, account, now).await?;
    let waiting = waiting.ok_or_else(|| AppError::Conflict("no authenticator app is being set up: begin again".to_owned()))?;
    if !held.were_on() {
        fresh::check_at(&mut tx, app, caller, waiting.expires.plus_millis(-SETUP_LIFETIME)).await?;
    }
    let waiting = waiting.sealed;
    let bytes = seal::open(app.settings.encryption_keys.all(), &setup_purpose(account.as_str()), &waiting)?;
    let Some(step) = Seed::new(&bytes, held.email())?.step_of(code, now) else {
        held.fail(tx, app, "wrong_confirmation").await?;
        return Err(WRONG);
    };
    if repo::end_setup(&mut tx, account, &waiting).await? == 0 {
        return Err(AppError::Conflict("the authenticator app was set up anew at the same moment: begin again".to_owned()));
    }
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, &purpose(account.as_str()), &bytes)?;
    repo::replace(&mut tx, account, &sealed, step, now).await?;
    let codes = factors::added(&mut tx, app, &held, from, Changed::Authenticator).await?;
    let event = Event::new(Action::AddAuthenticator, account);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(codes)
}

/// Removes the authenticator app; whether second factors are still on. Errors: 403 without a proof, 404 when there is none, 429.
pub async fn remove(app: &Context, caller: &LoginSession, from: ClientAddress, proof: Option<&Proof>) -> AppResult<bool> {
    // Whoever has none needs no proof to be told so.
    repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(NOT_FOUND)?;
    let (mut tx, held) = step_up::begin(app, caller, proof).await?;
    if repo::delete(&mut tx, held.account()).await? == 0 {
        return Err(NOT_FOUND);
    }
    let are_on = factors::removed(&mut tx, app, &held, from, Changed::Authenticator).await?;
    let event = Event::new(Action::RemoveAuthenticator, caller.account());
    audit::note(&mut tx, &caller.actor(), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(are_on)
}

/// Completes a pending login with a code. Errors: 401, 403 while codes are stopped, 429.
pub async fn log_in(app: &Context, from: ClientAddress, token: &str, code: &str) -> AppResult<LoggedIn> {
    let mut attempt = Attempt::begin(app, from, token).await?;
    let account = attempt.account().clone();
    attempt.must_take_codes(app)?;
    if use_code(attempt.tx(), app, &account, code).await? {
        attempt.succeed(app, Factor::Totp).await
    } else {
        Err(attempt.fail(app, "wrong_totp").await)
    }
}

/// Whether this is a code of the account's authenticator app now; its step is used up. The transaction holds the account.
pub async fn use_code(tx: &mut WriteTx, app: &Context, account: &AccountId, code: &str) -> AppResult<bool> {
    let Some(sealed) = repo::find(tx, account).await? else { return Ok(false) };
    let bytes = seal::open(app.settings.encryption_keys.all(), &purpose(account.as_str()), &sealed)?;
    // Codes do not depend on whose they are.
    match Seed::new(&bytes, "")?.step_of(code, app.now()) {
        Some(step) => Ok(repo::take_step(tx, account, step).await?),
        None => Ok(false),
    }
}
