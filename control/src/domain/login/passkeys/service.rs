//! The rules of signing in with a passkey.

use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::error::{Credentials, Error, Refusal, Result};
use crate::domain::limits::{self, Count, Limit, Subject};
use crate::domain::login::service::{self as login, LoggedIn, Way};
use crate::domain::login::{Attempt, pending};
use crate::domain::second_factors::passkeys::challenge::{self, Holder};
use crate::domain::second_factors::passkeys::{Answer, Options, ceremony, proof, repo};
use crate::domain::second_factors::{Factor, Held, factors};
use crate::domain::traces::{self, Event, Trace};

const WRONG: Error = Error::WrongCredentials(Credentials::Passkey);

/// A question to whoever signs in without a password.
#[derive(Debug)]
pub struct Asked {
    /// Names the challenge in the answer.
    pub challenge_id: String,
    /// What the browser is given. It is the same for all, but for the challenge.
    pub options: Options,
}

/// Asks whoever waits for a second factor for one of the account's passkeys. Errors: 401; 409 when there is none; 429; 501.
pub async fn ask_pending(app: &Context, from: ClientAddress, token: &str) -> Result<Options> {
    ceremony::webauthn(&app.relying_party)?;
    admit(app, from).await?;
    let mut tx = app.db.read().await?;
    let login = pending::find(&mut tx, token, app.now()).await?;
    let passkeys = repo::list(&mut tx, &login.account_id).await?;
    drop(tx);
    if passkeys.is_empty() {
        return Err(Error::Conflict(Conflict::NoPasskeyToLogIn));
    }
    let question = ceremony::ask_for_proof(&app.relying_party, &passkeys)?;
    let mut tx = app.db.write().await?;
    challenge::put(&mut tx, app, Holder::Pending(&login.id, &login.account_id), &question.state).await.map_err(|error| match error {
        // It has ended meanwhile.
        Error::Unauthenticated => pending::service::WRONG,
        error => error,
    })?;
    tx.commit().await?;
    Ok(question.options)
}

/// Completes a pending login. Errors: 401; 429 after too many failures of the account; 501.
pub async fn complete_pending(app: &Context, from: ClientAddress, token: &str, response: &Answer) -> Result<LoggedIn> {
    ceremony::webauthn(&app.relying_party)?;
    let mut attempt = Attempt::begin(app, from, token).await?;
    let (login, account) = (attempt.pending().clone(), attempt.account().clone());
    if proof::judge(attempt.tx(), app, Holder::Pending(&login, &account), &account, response).await? {
        attempt.succeed(app, Factor::Passkey).await
    } else {
        Err(attempt.fail(app, "wrong_passkey").await)
    }
}

/// Asks anybody for a passkey. Errors: 429; 501.
pub async fn ask_anybody(app: &Context, from: ClientAddress) -> Result<Asked> {
    ceremony::webauthn(&app.relying_party)?;
    admit(app, from).await?;
    let challenge_id = challenge::new_id(app)?;
    let question = ceremony::ask_for_proof(&app.relying_party, &[])?;
    let mut tx = app.db.write().await?;
    challenge::put(&mut tx, app, Holder::Stranger(&challenge_id), &question.state).await?;
    tx.commit().await?;
    Ok(Asked { challenge_id, options: question.options })
}

/// Signs in the owner of the passkey that answers. Errors: 401; 403 for a suspended account; 429; 501.
///
/// A failure is counted by the client's address alone: counted by account, it would let anybody who has seen a passkey's id keep its owner out, and a
/// signature cannot be guessed.
pub async fn sign_in(app: &Context, from: ClientAddress, challenge_id: &str, response: &Answer, device: &Device) -> Result<LoggedIn> {
    ceremony::webauthn(&app.relying_party)?;
    admit(app, from).await?;
    let holder = Holder::Stranger(challenge_id);
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
    Held::lock(&mut tx, app, &account, from).await.map_err(|error| match error {
        // The account was deleted a moment ago.
        Error::Unauthenticated => WRONG,
        error => error,
    })?;
    if !proof::judge(&mut tx, app, holder, &account, response).await? {
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
    factors::forgive(&mut tx, &account).await?;
    let has_device = device.find(&mut tx, &email, app.now()).await?.is_some();
    login::finish(tx, app, &account, from, Way::Passkey, has_device).await
}

/// Counts a request that needs no credential.
async fn admit(app: &Context, from: ClientAddress) -> Result<()> {
    limits::admit_address(app, from.0, Limit::Posts, app.settings.limits.strangers.posts).await?.map_err(limits::too_many_logins)
}
