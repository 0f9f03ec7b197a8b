//! Registration.

use shared::ids::RegistrationId;
use shared::limit::{Rate, wide_network};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::budget::Budget;
use super::repo::{self, NewRegistrationRow, Renewed};
use crate::domain::access::anonymous::Anonymous;
use crate::domain::accounts::service::validate_password;
use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::accounts::strength;
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::credentials::token::PlainToken;
use crate::domain::email::Email;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::limits::{self, Limit};
use crate::domain::mail::{self, Kind, Mail};
use crate::domain::{login, traces};

/// A registration request. Each field is validated separately, so that all field errors are reported together with those of the password's strength.
pub struct NewRegistration {
    /// The email address for the account.
    pub email: Result<Email, Invalid>,
    /// The display name.
    pub name: Result<Option<String>, Invalid>,
    /// The password; its strength is checked later.
    pub password: Result<String, Invalid>,
    /// The token of a human-verification challenge.
    pub challenge_token: Result<Option<String>, Invalid>,
}

/// Stores a registration, and emails the link that confirms it if the address has emails left. For an address that has an account, it stores a decoy
/// and emails the owner that the address is already registered. The work is the same in both cases. Errors: 403 if registration is closed, or with a
/// code if a challenge token is required; 400; 429.
pub async fn register(app: &Context, from: ClientAddress, new: NewRegistration) -> Result<()> {
    must_be_open(app)?;
    let mut errors = FieldErrors::default();
    let email = errors.take("email", new.email);
    let name = errors.take("name", new.name);
    let challenge_token = errors.take("challengeToken", new.challenge_token);
    let mut password = errors.take("password", new.password);
    // Checking password strength is CPU-heavy: skip it if the request would be refused anyway.
    if let Err(refusal) = refuse_early(app, from, challenge_token.as_ref().and_then(Option::as_deref)).await {
        return Err(if errors.is_empty() { refusal } else { Error::Invalid(errors) });
    }
    if let Some(text) = password {
        // Each check counts, even if the password is refused and no registration follows.
        acquire(app, from, Limit::Posts, app.settings.limits.unauthenticated.posts).await?;
        let name = name.as_ref().and_then(Option::as_deref);
        let known = strength::context(&app.settings.addresses(), email.as_deref().unwrap_or_default(), name);
        let validated = validate_password(app, from, &text, known).await?;
        password = errors.take("password", validated.map(|()| text));
    }
    let (Some(email), Some(name), Some(challenge_token), Some(password)) = (email, name, challenge_token, password) else {
        return Err(errors.into());
    };
    let rate = app.settings.limits.unauthenticated.register;
    verify_human(app, from, challenge_token.as_deref(), Limit::Register, rate).await?;

    let password_hash = app.password_permit(from).await?.hash(&password).await?;
    let event = Event::about_email(Action::Register, &email);
    let mut change = Anonymous::at(from).begin(app).await?;
    let now = change.now();
    let budget = Budget::lock(&mut change, from, &email, now).await?;
    let (token, lifetime) = (PlainToken::mailed(&app.entropy)?, app.settings.limits.unauthenticated.verify_token);
    let is_decoy = login::repo::find_account(&mut change, &email).await?.is_some();
    let row = NewRegistrationRow {
        id: &RegistrationId::v7(now, app.entropy.bytes()?),
        email: &email,
        name: name.as_deref(),
        password_hash: &password_hash,
        token: &token.hash(),
        token_expires: now.plus_millis(lifetime),
        created_by: &from.0.to_string(),
        network: &wide_network(from.0),
        is_decoy,
        created: now,
    };
    repo::insert(&mut change, &row).await?;
    if budget.has_mail(app, now) {
        let kind = if is_decoy { Kind::AlreadyRegistered } else { verification(app, &token, now, from.0.to_string()) };
        mail::outbox::enqueue(&mut change, app, &Mail { to: email.into(), kind }).await?;
        budget.take(&mut change, app, now).await?;
    } else {
        budget.leave(&mut change).await?;
    }
    change.commit(event).await
}

/// The verification email for a registration made at this time from this client address.
fn verification(app: &Context, token: &PlainToken, time: UnixMillis, address: String) -> Kind {
    let (link, lifetime) = (mail::verify_email_link(&app.settings, token.reveal()), app.settings.limits.unauthenticated.verify_token);
    Kind::VerifyEmail { link, lifetime, time, address }
}

/// Sends the verification email again with a new token; the old one no longer works. Picks the newest registration from the caller's network, else the
/// newest. For a decoy, the account's owner gets the "already registered" mail again. The response does not reveal whether there is a registration.
/// Errors: 403 if registration is closed; 400; 429.
pub async fn resend(app: &Context, from: ClientAddress, email: Result<Email, Invalid>) -> Result<()> {
    must_be_open(app)?;
    let email = email.map_err(|fault| Error::invalid("email", fault))?;
    let limits = &app.settings.limits.unauthenticated;
    acquire(app, from, Limit::MailRequests, limits.mail_requests).await?;
    let event = Event::about_email(Action::ResendVerification, &email);
    let mut change = Anonymous::at(from).begin(app).await?;
    let now = change.now();
    let budget = Budget::lock(&mut change, from, &email, now).await?;
    let token = PlainToken::mailed(&app.entropy)?;
    let (since, expires) = (now.plus_millis(-PENDING_LIFETIME), now.plus_millis(limits.verify_token));
    let has_account = login::repo::find_account(&mut change, &email).await?.is_some();
    let renewed =
        if budget.has_mail(app, now) { repo::renew(&mut change, &email, from, since, &token.hash(), expires).await? } else { None };
    let kind = match renewed {
        Some(_) if has_account => Some(Kind::AlreadyRegistered),
        // The decoy's account has been deleted since.
        Some(Renewed { is_decoy: true, .. }) | None => None,
        Some(Renewed { created_time, created_by, .. }) => Some(verification(app, &token, created_time, created_by)),
    };
    if let Some(kind) = kind {
        mail::outbox::enqueue(&mut change, app, &Mail { to: email.into(), kind }).await?;
        budget.take(&mut change, app, now).await?;
    } else {
        budget.leave(&mut change).await?;
    }
    change.commit(event).await
}

pub(crate) fn must_be_open(app: &Context) -> Result<()> {
    app.settings.is_registration_open.then_some(()).ok_or(Error::Refused(Refusal::RegistrationClosed))
}

/// Refuses a registration that [`verify_human`] would refuse, without counting it and before calling the verifier.
async fn refuse_early(app: &Context, from: ClientAddress, challenge_token: Option<&str>) -> Result<()> {
    if challenge_token.is_none() {
        app.verify_challenge(None, from).await?;
    }
    let rate = app.settings.limits.unauthenticated.register;
    let so_far = limits::find_address(&mut app.db.read().await?, Limit::Register, from.0).await?;
    let Some(seconds) = so_far.wait(rate, app.now()) else { return Ok(()) };
    traces::refused(app, from, Limit::Register.as_str(), None);
    Err(limits::too_many(seconds))
}

pub(crate) use crate::domain::limits::acquire_unauthenticated as acquire;

/// Rate-limits an unauthenticated request that must also pass the challenge, if one is configured. A request refused for a missing token is not
/// counted. Errors: 429; 403 with a code.
pub(crate) async fn verify_human(
    app: &Context,
    from: ClientAddress,
    challenge_token: Option<&str>,
    limit: Limit,
    rate: Rate,
) -> Result<()> {
    if challenge_token.is_none() {
        app.verify_challenge(None, from).await?;
    }
    acquire(app, from, limit, rate).await?;
    app.verify_challenge(challenge_token, from).await
}
