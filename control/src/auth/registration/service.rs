//! The rules of registrations.

use shared::Invalid;
use shared::ids::RegistrationId;
use shared::limit::Rate;

use super::PENDING_LIFETIME;
use super::http::{NewRegistration, Resend, ShownToken};
use super::repo::{self, NewRegistrationRow, RegistrationRow};
use crate::accounts::service::{self as accounts, NewAccount, known_words};
use crate::app::App;
use crate::audit::{self, Action, Actor, Event};
use crate::auth::token::{PlainToken, TokenHash};
use crate::auth::{login, members};
use crate::error::{AppError, AppResult};
use crate::limits::{self, Count, Limit, Subject};
use crate::mail::{self, Kind, Mail};
use crate::web::{ClientAddress, Faults};

/// Writes a registration and sends the mail that verifies it; whoever has an account already is sent a mail that says so. The work is the same in
/// both cases. Errors: 403 when registration is closed, or with a code when a challenge token is needed, 400, 429.
pub async fn register(app: &App, from: ClientAddress, new: &NewRegistration) -> AppResult<()> {
    must_be_open(app)?;
    let mut faults = Faults::default();
    let email = faults.take("email", members::email(&new.email));
    let name = faults.take("name", members::name(&new.name));
    let challenge_token = faults.take("challengeToken", members::challenge_token(&new.challenge_token));
    let mut password = faults.take("password", new.password.text());
    // To judge a password takes a core for a moment: not for those who would be refused anyway.
    if let Err(refusal) = look(app, from, challenge_token.flatten()).await {
        return Err(if faults.is_empty() { refusal } else { faults.into_error() });
    }
    if let Some(text) = password {
        // Each counts, also one that is refused and so is no registration.
        admit(app, from, Limit::Posts, app.config.limits.strangers.posts).await?;
        let known = known_words(email.as_deref().unwrap_or_default(), name.flatten());
        let judged = app.passwords.turn(from).await?.judge(text, &known).await?;
        password = faults.take("password", judged.map(|()| text));
    }
    let (Some(email), Some(name), Some(challenge_token), Some(password)) = (email, name, challenge_token, password) else {
        return Err(faults.into_error());
    };
    let rate = app.config.limits.strangers.register;
    admit_human(app, from, challenge_token, Limit::Register, rate).await?;

    let password_hash = app.passwords.turn(from).await?.hash(password).await?;
    let event = Event::about_email(Action::Register, &email);
    let (mut tx, now) = (app.db.write().await?, app.now());
    let limits = &app.config.limits.strangers;
    if limits::admit(&mut tx, Limit::Mails, &Subject::email(&email), limits.mails, now).await?.is_ok() {
        let token = PlainToken::mailed(&app.dice)?;
        let kind = if login::repo::find_account(&mut tx, &email).await?.is_some() {
            Kind::AlreadyRegistered
        } else {
            let row = NewRegistrationRow {
                id: &RegistrationId::v7(now, app.dice.bytes()?),
                email: &email,
                name,
                password_hash: &password_hash,
                token: &token.hash(),
                token_expires: now.plus_millis(limits.verify_token),
                created_by: &from.0.to_string(),
                created: now,
            };
            repo::insert(&mut tx, &row).await?;
            Kind::VerifyEmail {
                link: mail::verify_email_link(&app.config, token.reveal()),
                lifetime: limits.verify_token,
                time: now,
                address: from.0.to_string(),
            }
        };
        mail::outbox::put(&mut tx, app, &Mail { to: email, kind }).await?;
    }
    audit::note(&mut tx, &Actor::stranger(from), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// Makes the account of the registration that the token belongs to; the other registrations of its address are over. Errors: 400 for a token that is
/// not known, was used, or is too old, 403 when registration is closed, 429.
pub async fn verify(app: &App, from: ClientAddress, shown: &ShownToken) -> AppResult<()> {
    must_be_open(app)?;
    let refused = |fault: Invalid| AppError::Invalid(format!("token: {fault}"));
    let token = members::mailed_token(&shown.token).map_err(refused)?;
    admit(app, from, Limit::Posts, app.config.limits.strangers.posts).await?;
    let (mut tx, now) = (app.db.write().await?, app.now());
    let found = repo::find(&mut tx, &TokenHash::of(token), now, now.plus_millis(-PENDING_LIFETIME)).await?;
    let RegistrationRow { email, name, password_hash } = found.ok_or_else(|| refused(members::unknown_token()))?;
    repo::delete(&mut tx, &email).await?;
    let account = NewAccount { email: &email, name: name.as_deref(), password_hash: &password_hash, limits: app.config.limits.account };
    // Of two tokens of one address that are shown at once, the one that makes the account was the first.
    accounts::create(&mut tx, &Actor::stranger(from), &account, &app.dice, now).await.map_err(|error| match error {
        AppError::Conflict(_) => refused(members::unknown_token()),
        other => other,
    })?;
    tx.commit().await?;
    Ok(())
}

/// Sends the newest registration's mail again with a new token, which voids the old one. Nobody learns whether there is one. Errors: 403 when
/// registration is closed, 400, 429.
pub async fn resend(app: &App, from: ClientAddress, resend: &Resend) -> AppResult<()> {
    must_be_open(app)?;
    let email = members::email(&resend.email).map_err(|fault| AppError::Invalid(format!("email: {fault}")))?;
    let limits = &app.config.limits.strangers;
    admit(app, from, Limit::MailRequests, limits.mail_requests).await?;
    let event = Event::about_email(Action::ResendVerification, &email);
    let (mut tx, now) = (app.db.write().await?, app.now());
    // Only mails that are sent count: else whoever asks in vain would use up those of the owner.
    let mails = Count::lock(&mut tx, Limit::Mails, &Subject::email(&email), now).await?;
    let token = PlainToken::mailed(&app.dice)?;
    let (since, expires) = (now.plus_millis(-PENDING_LIFETIME), now.plus_millis(limits.verify_token));
    let renewed = match mails.times().wait(limits.mails, now) {
        Some(_) => None,
        None => repo::renew(&mut tx, &email, since, &token.hash(), expires).await?,
    };
    if let Some((time, address)) = renewed {
        let link = mail::verify_email_link(&app.config, token.reveal());
        let kind = Kind::VerifyEmail { link, lifetime: limits.verify_token, time, address };
        mail::outbox::put(&mut tx, app, &Mail { to: email, kind }).await?;
        mails.add(&mut tx, limits.mails, now).await?;
    } else {
        mails.leave(&mut tx).await?;
    }
    audit::note(&mut tx, &Actor::stranger(from), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

fn must_be_open(app: &App) -> AppResult<()> {
    let closed = || AppError::Forbidden("registration is closed: ask whoever runs this service for an account".into());
    app.config.is_registration_open.then_some(()).ok_or_else(closed)
}

/// Refuses a registration that [`admit_human`] would refuse, without counting it, and before the verifier is asked.
async fn look(app: &App, from: ClientAddress, challenge_token: Option<&str>) -> AppResult<()> {
    if challenge_token.is_none() {
        app.challenge.verify(None, from.0).await?;
    }
    let rate = app.config.limits.strangers.register;
    let so_far = limits::find(&mut app.db.read().await?, Limit::Register, &Subject::address(from.0)).await?;
    so_far.wait(rate, app.now()).map_or(Ok(()), |seconds| Err(limits::too_many(seconds)))
}

/// Counts a request of a stranger. Errors: 429.
pub(in crate::auth) async fn admit(app: &App, from: ClientAddress, limit: Limit, rate: Rate) -> AppResult<()> {
    limits::admit_address(app, from.0, limit, rate).await?.map_err(limits::too_many)
}

/// The same where the stranger must be human, if challenges are configured; to be told so counts for nothing. Errors: 429, 403 with a code.
pub(in crate::auth) async fn admit_human(
    app: &App,
    from: ClientAddress,
    challenge_token: Option<&str>,
    limit: Limit,
    rate: Rate,
) -> AppResult<()> {
    if challenge_token.is_none() {
        app.challenge.verify(None, from.0).await?;
    }
    admit(app, from, limit, rate).await?;
    app.challenge.verify(challenge_token, from.0).await
}
