//! The rules of authenticator apps.

use shared::ids::AccountId;
use subtle::ConstantTimeEq;

use super::repo;
use super::seed::{self, Seed};
use crate::domain::access::{DashboardSession, LoginSession, freshness};
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Credentials, Error, Result, Thing};
use crate::domain::second_factors::changes::{self, Changed};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::infra::crypto::seal;
use crate::infra::db::WriteTx;

/// How long a seed waits to be confirmed, in milliseconds.
const SETUP_LIFETIME: i64 = 10 * 60_000;

const NOT_FOUND: Error = Error::NotFound(Thing::AuthenticatorApp);

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
pub async fn set_up(app: &Context, caller: &DashboardSession) -> Result<Seed> {
    let bytes = app.dice.bytes::<{ seed::LENGTH }>()?;
    let seed = Seed::new(&bytes, caller.email())?;
    let account = caller.account();
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, &setup_purpose(account.as_str()), &bytes)?;
    let mut change = caller.begin(app).await?;
    second_factors::check_first(&mut change, app, caller).await?;
    let expires = change.now().plus_millis(SETUP_LIFETIME);
    repo::set_up(&mut change, account, &sealed, expires).await?;
    change.commit(Event::new(Action::SetUpAuthenticator, account)).await?;
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
pub async fn standing(app: &Context, caller: &DashboardSession, seed: &[u8]) -> Result<Standing> {
    let mut tx = app.db.read().await?;
    let (account, keys) = (caller.account(), app.settings.encryption_keys.all());
    let is = |purpose: &str, sealed: &[u8]| -> Result<bool> { Ok(seal::open(keys, purpose, sealed)?.ct_eq(seed).into()) };
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
pub async fn confirm(app: &Context, caller: &DashboardSession, code: &str, proof: Option<&Proof>) -> Result<Option<Codes>> {
    let (mut change, held) = step_up::begin(app, caller, proof).await?;
    held.check_limit(app)?;
    let (account, now) = (caller.account(), change.now());
    let waiting = repo::find_setup(&mut change, account, now).await?;
    let waiting = waiting.ok_or_else(|| Error::Conflict(Conflict::NoSetup))?;
    if !held.were_on() {
        freshness::check_at(&mut change, app, caller, waiting.expires.plus_millis(-SETUP_LIFETIME)).await?;
    }
    let waiting = waiting.sealed;
    let bytes = seal::open(app.settings.encryption_keys.all(), &setup_purpose(account.as_str()), &waiting)?;
    let Some(step) = Seed::new(&bytes, held.email())?.step_of(code, now) else {
        held.fail(change, "wrong_confirmation").await?;
        return Err(Error::WrongCredentials(Credentials::Code));
    };
    if repo::end_setup(&mut change, account, &waiting).await? == 0 {
        return Err(Error::Conflict(Conflict::SetupChanged));
    }
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.dice, &purpose(account.as_str()), &bytes)?;
    repo::replace(&mut change, account, &sealed, step, now).await?;
    let codes = changes::added(&mut change, &held, Changed::Authenticator).await?;
    change.commit(Event::new(Action::AddAuthenticator, account)).await?;
    Ok(codes)
}

/// Removes the authenticator app; whether second factors are still on. Errors: 403 without a proof, 404 when there is none, 429.
pub async fn remove(app: &Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<bool> {
    // Whoever has none needs no proof to be told so.
    repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(NOT_FOUND)?;
    let (mut change, held) = step_up::begin(app, caller, proof).await?;
    if repo::delete(&mut change, held.account()).await? == 0 {
        return Err(NOT_FOUND);
    }
    let are_on = changes::removed(&mut change, &held, Changed::Authenticator).await?;
    change.commit(Event::new(Action::RemoveAuthenticator, caller.account())).await?;
    Ok(are_on)
}

/// Whether this is a code of the account's authenticator app now; its step is used up. The transaction holds the account.
pub async fn use_code(tx: &mut WriteTx, app: &Context, account: &AccountId, code: &str) -> Result<bool> {
    let Some(sealed) = repo::find(tx, account).await? else { return Ok(false) };
    let bytes = seal::open(app.settings.encryption_keys.all(), &purpose(account.as_str()), &sealed)?;
    // Codes do not depend on whose they are.
    match Seed::new(&bytes, "")?.step_of(code, app.now()) {
        Some(step) => Ok(repo::take_step(tx, account, step).await?),
        None => Ok(false),
    }
}
