//! Login with a passkey.

use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::error::{Credentials, Error, Refusal, Result};
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::domain::login::service::{self as login, LoggedIn, Method};
use crate::domain::login::{Attempt, pending};
use crate::domain::second_factors::passkeys::challenge::{self, Holder};
use crate::domain::second_factors::passkeys::{Answer, Options, ceremony, proof, repo};
use crate::domain::second_factors::{Factor, LockedAccount};
use crate::domain::traces::{self, Event, Trace};

const WRONG: Error = Error::WrongCredentials(Credentials::Passkey);

/// A challenge for passwordless login.
#[derive(Debug)]
pub struct PasswordlessChallenge {
    /// The id that the response refers to.
    pub challenge_id: String,
    /// The options for the browser. They are the same for everyone, except for the challenge.
    pub options: Options,
}

/// Creates a passkey challenge for a pending login. Errors: 401; 409 if the account has no passkey; 429; 501.
pub async fn ask_pending(app: &Context, from: ClientAddress, token: &str) -> Result<Options> {
    ceremony::webauthn(&app.relying_party)?;
    acquire(app, from).await?;
    let mut tx = app.db.read().await?;
    let login = pending::find(&mut tx, token, app.now()).await?;
    let passkeys = repo::list(&mut tx, &login.account_id).await?;
    drop(tx);
    if passkeys.is_empty() {
        return Err(Error::Conflict(Conflict::NoPasskeyToLogIn));
    }
    let started = ceremony::start_authentication(&app.relying_party, &passkeys)?;
    let mut tx = app.db.write().await?;
    challenge::store(&mut tx, app, Holder::Pending(&login.id, &login.account_id), &started.state).await.map_err(|error| match error {
        // The login was completed or expired meanwhile.
        Error::Unauthenticated => pending::service::WRONG,
        error => error,
    })?;
    tx.commit().await?;
    Ok(started.options)
}

/// Completes a pending login with a passkey. Errors: 401; 429 after too many failures of the account; 501.
pub async fn complete_pending(app: &Context, from: ClientAddress, token: &str, response: &Answer) -> Result<LoggedIn> {
    ceremony::webauthn(&app.relying_party)?;
    let mut attempt = Attempt::begin(app, from, token).await?;
    let (login, account) = (attempt.pending().clone(), attempt.account().clone());
    if proof::verify(attempt.tx(), app, Holder::Pending(&login, &account), &account, response).await? {
        attempt.succeed(app, Factor::Passkey).await
    } else {
        Err(attempt.fail(app, "wrong_passkey").await)
    }
}

/// Creates a challenge for passwordless login. Errors: 429; 501.
pub async fn ask_anybody(app: &Context, from: ClientAddress) -> Result<PasswordlessChallenge> {
    ceremony::webauthn(&app.relying_party)?;
    acquire(app, from).await?;
    let challenge_id = challenge::new_id(app)?;
    let started = ceremony::start_authentication(&app.relying_party, &[])?;
    let mut tx = app.db.write().await?;
    challenge::store(&mut tx, app, Holder::Anonymous(&challenge_id), &started.state).await?;
    tx.commit().await?;
    Ok(PasswordlessChallenge { challenge_id, options: started.options })
}

/// Signs in the owner of the passkey. Errors: 401; 403 for a suspended account; 429; 501.
///
/// Failures count by client address only. Counted by account, they would let anyone who knows a passkey's id lock out its owner; and a signature
/// cannot be guessed.
pub async fn sign_in(app: &Context, from: ClientAddress, challenge_id: &str, response: &Answer, device: &Device) -> Result<LoggedIn> {
    ceremony::webauthn(&app.relying_party)?;
    acquire(app, from).await?;
    let holder = Holder::Anonymous(challenge_id);
    let owner = match response.proof() {
        Some(answer) => repo::owner(&mut app.db.read().await?, &ceremony::credential_id(&answer.raw_id)).await?,
        None => None,
    };
    let mut tx = app.db.write().await?;
    let Some(account) = owner else {
        challenge::claim(&mut tx, app, holder).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event: Event::Login, outcome: "unknown_passkey", account: None, from });
        return Err(WRONG);
    };
    let email = accounts::repo::find(&mut tx, &account).await?.ok_or(WRONG)?.email;
    let failures = Count::lock(&mut tx, Limit::LoginAccount, &Subject::email(&email), app.now()).await?;
    LockedAccount::lock(&mut tx, app, &account, from).await.map_err(|error| match error {
        // The account was deleted concurrently.
        Error::Unauthenticated => WRONG,
        error => error,
    })?;
    if !proof::verify(&mut tx, app, holder, &account, response).await? {
        failures.leave(&mut tx).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event: Event::Login, outcome: "wrong_passkey", account: Some(&account), from });
        return Err(WRONG);
    }
    if accounts::repo::is_suspended(&mut tx, &account).await? {
        failures.leave(&mut tx).await?;
        tx.commit().await?;
        traces::fail(app, Trace { event: Event::Login, outcome: "suspended", account: Some(&account), from });
        return Err(Error::Refused(Refusal::Suspended));
    }
    failures.clear(&mut tx).await?;
    accounts::repo::forgive_factors(&mut tx, &account).await?;
    let has_device = device.find(&mut tx, &email, app.now()).await?.is_some();
    login::finish(tx, app, &account, from, Method::Passkey, has_device).await
}

/// Counts an unauthenticated request.
async fn acquire(app: &Context, from: ClientAddress) -> Result<()> {
    limits::acquire_for_address(app, from.0, Limit::Posts, app.settings.limits.unauthenticated.posts)
        .await?
        .map_err(limits::too_many_logins)
}
