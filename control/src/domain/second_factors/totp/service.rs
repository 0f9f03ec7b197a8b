//! Authenticator apps.

use shared::ids::AccountId;
use subtle::ConstantTimeEq;

use super::repo;
use super::seed::{self, Seed};
use crate::domain::access::{DashboardSession, LoginSession, freshness};
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Credentials, Error, Result, Thing};
use crate::domain::second_factors::changes::{self, ChangedFactor};
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::{self, Proof, step_up};
use crate::infra::crypto::seal;
use crate::infra::db::WriteTx;

/// Lifetime of an unconfirmed seed, in milliseconds.
const SETUP_LIFETIME: i64 = 10 * 60_000;

const NOT_FOUND: Error = Error::NotFound(Thing::AuthenticatorApp);

/// The encryption purpose of a seed, so that a copy of one row does not work in another.
pub fn purpose(account: &str) -> String {
    format!("authenticator/{account}")
}

/// The same for an unconfirmed seed.
pub fn setup_purpose(account: &str) -> String {
    format!("authenticator-setup/{account}")
}

/// Creates an unconfirmed seed, replacing an earlier one; the confirmed seed stays active. Errors: 403 with `reauth_required` if it would be the
/// account's first factor and the session is not fresh.
pub async fn set_up(app: &Context, caller: &DashboardSession) -> Result<Seed> {
    let bytes = app.entropy.bytes::<{ seed::LENGTH }>()?;
    let seed = Seed::new(&bytes, caller.email())?;
    let account = caller.account();
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, &setup_purpose(account.as_str()), &bytes)?;
    let mut change = caller.begin(app).await?;
    second_factors::check_first(&mut change, app, caller).await?;
    let expires = change.now().plus_millis(SETUP_LIFETIME);
    repo::set_up(&mut change, account, &sealed, expires).await?;
    change.commit(Event::new(Action::SetUpAuthenticator, account)).await?;
    Ok(seed)
}

/// The state of a seed that was shown to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedState {
    /// Confirmed: its codes work.
    InForce,
    /// Unconfirmed.
    Waits,
    /// Replaced by another unconfirmed seed.
    Replaced,
    /// There is no unconfirmed seed.
    Gone,
}

/// Returns the state of a seed. Nothing is revealed about seeds other than the caller's own.
pub async fn seed_state(app: &Context, caller: &DashboardSession, seed: &[u8]) -> Result<SeedState> {
    let mut tx = app.db.read().await?;
    let (account, keys) = (caller.account(), app.settings.encryption_keys.all());
    let is = |purpose: &str, sealed: &[u8]| -> Result<bool> { Ok(seal::open(keys, purpose, sealed)?.ct_eq(seed).into()) };
    if let Some(sealed) = repo::find(&mut tx, account).await?
        && is(&purpose(account.as_str()), &sealed)?
    {
        return Ok(SeedState::InForce);
    }
    match repo::find_setup(&mut tx, account, app.now()).await? {
        Some(setup) if is(&setup_purpose(account.as_str()), &setup.sealed)? => Ok(SeedState::Waits),
        Some(_) => Ok(SeedState::Replaced),
        None => Ok(SeedState::Gone),
    }
}

/// Activates the unconfirmed seed with one of its codes. Returns recovery codes if this turned second factors on. Errors: 401 for a wrong code, which
/// is counted; 403 if the proof of an existing factor is missing or wrong, or for a first factor that was not started in time; 409 if there is no
/// unconfirmed seed; 429.
pub async fn confirm(app: &Context, caller: &DashboardSession, code: &str, proof: Option<&Proof>) -> Result<Option<Codes>> {
    let (mut change, stepped_up) = step_up::begin(app, caller, proof).await?;
    stepped_up.check_limit(app)?;
    let (account, now) = (caller.account(), change.now());
    let waiting = repo::find_setup(&mut change, account, now).await?;
    let waiting = waiting.ok_or_else(|| Error::Conflict(Conflict::NoSetup))?;
    if !stepped_up.were_on() {
        freshness::check_at(&mut change, app, caller, waiting.expires.plus_millis(-SETUP_LIFETIME)).await?;
    }
    let waiting = waiting.sealed;
    let bytes = seal::open(app.settings.encryption_keys.all(), &setup_purpose(account.as_str()), &waiting)?;
    let Some(step) = Seed::new(&bytes, stepped_up.email())?.step_of(code, now) else {
        stepped_up.fail(change, "wrong_confirmation").await?;
        return Err(Error::WrongCredentials(Credentials::Code));
    };
    if repo::end_setup(&mut change, account, &waiting).await? == 0 {
        return Err(Error::Conflict(Conflict::SetupChanged));
    }
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, &purpose(account.as_str()), &bytes)?;
    repo::replace(&mut change, account, &sealed, step, now).await?;
    let codes = changes::added(&mut change, &stepped_up, ChangedFactor::Authenticator).await?;
    change.commit(Event::new(Action::AddAuthenticator, account)).await?;
    Ok(codes)
}

/// Removes the authenticator app. Returns whether second factors are still on. Errors: 403 without a proof; 404 if there is none; 429.
pub async fn remove(app: &Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<bool> {
    // Checked first: an account without one gets 404 without a proof.
    repo::find(&mut app.db.read().await?, caller.account()).await?.ok_or(NOT_FOUND)?;
    let (mut change, stepped_up) = step_up::begin(app, caller, proof).await?;
    if repo::delete(&mut change, stepped_up.account()).await? == 0 {
        return Err(NOT_FOUND);
    }
    let are_on = changes::removed(&mut change, &stepped_up, ChangedFactor::Authenticator).await?;
    change.commit(Event::new(Action::RemoveAuthenticator, caller.account())).await?;
    Ok(are_on)
}

/// Checks a current code of the account's authenticator app, and uses up its time step. The transaction must have locked the account.
pub async fn use_code(tx: &mut WriteTx, app: &Context, account: &AccountId, code: &str) -> Result<bool> {
    let Some(sealed) = repo::find(tx, account).await? else { return Ok(false) };
    let bytes = seal::open(app.settings.encryption_keys.all(), &purpose(account.as_str()), &sealed)?;
    // Codes do not depend on the email address.
    match Seed::new(&bytes, "")?.step_of(code, app.now()) {
        Some(step) => Ok(repo::take_step(tx, account, step).await?),
        None => Ok(false),
    }
}
