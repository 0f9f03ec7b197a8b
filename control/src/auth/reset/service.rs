//! The rules of password resets.

use super::http::{Forgotten, Reset};
use super::repo;
use crate::accounts;
use crate::accounts::service::{end_old_password, known_words};
use crate::app::App;
use crate::audit::{self, Action, Actor, Event};
use crate::auth::registration::service::{admit, admit_human};
use crate::auth::token::{PlainToken, TokenHash};
use crate::auth::{login, members};
use crate::error::{AppError, AppResult};
use crate::limits::{Count, Limit, Subject};
use crate::mail::{self, Kind, Mail};
use crate::web::{ClientAddress, Faults};

/// Sends the owner of an account a link that takes a new password. Several may be open; the first that is used closes the others. Nobody learns
/// whether there is an account. Errors: 400, 403 with a code when a challenge token is needed, 429.
pub async fn forgot(app: &App, from: ClientAddress, forgotten: &Forgotten) -> AppResult<()> {
    let mut faults = Faults::default();
    let email = faults.take("email", members::email(&forgotten.email));
    let challenge_token = faults.take("challengeToken", members::challenge_token(&forgotten.challenge_token));
    let (Some(email), Some(challenge_token)) = (email, challenge_token) else { return Err(faults.into_error()) };
    let limits = &app.config.limits.strangers;
    admit_human(app, from, challenge_token, Limit::MailRequests, limits.mail_requests).await?;

    let event = Event::about_email(Action::ForgotPassword, &email);
    let (mut tx, now) = (app.db.write().await?, app.now());
    // Only mails that are sent count: else whoever asks in vain would use up those of the owner.
    let mails = Count::lock(&mut tx, Limit::Mails, &Subject::email(&email), now).await?;
    let account = accounts::repo::find_by_email(&mut tx, &email).await?.filter(|_| mails.times().wait(limits.mails, now).is_none());
    if let Some(account) = account {
        let token = PlainToken::mailed(&app.dice)?;
        repo::insert(&mut tx, &token.hash(), &account, now.plus_millis(limits.reset_token)).await?;
        let kind = Kind::ResetPassword { link: mail::reset_password_link(&app.config, token.reveal()), lifetime: limits.reset_token };
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

/// Puts a new password in the place of the old one. It ends every session and every command line's credential, closes the other resets, forgives the
/// failed logins, and tells the owner, with the names of the keys that stay. Errors: 400 for a token that is not known, was used or is too old, and
/// for a password that is too easily guessed, which leaves the token as it was; 429.
pub async fn reset(app: &App, from: ClientAddress, reset: &Reset) -> AppResult<()> {
    let mut faults = Faults::default();
    let token = faults.take("token", members::mailed_token(&reset.token));
    let password = faults.take("password", reset.password.text());
    if token.is_some() || password.is_some() {
        admit(app, from, Limit::Posts, app.config.limits.strangers.posts).await?;
    }
    let token = token.map(TokenHash::of);
    let mut found = None;
    if let Some(token) = &token {
        let mut tx = app.db.read().await?;
        if let Some(account) = repo::find(&mut tx, token, app.now()).await? {
            found = accounts::repo::find(&mut tx, &account).await?.map(|row| (account, row));
        }
        faults.take("token", found.as_ref().ok_or_else(members::unknown_token));
    }
    if let Some(password) = password {
        let known = found.as_ref().map(|(_, row)| known_words(&row.email, row.name.as_deref())).unwrap_or_default();
        faults.take("password", app.passwords.turn(from).await?.judge(password, &known).await?);
    }
    let (Some(token), Some(password), Some((account, row)), true) = (token, password, found, faults.is_empty()) else {
        return Err(faults.into_error());
    };

    let password_hash = app.passwords.turn(from).await?.hash(password).await?;
    let (mut tx, now) = (app.db.write().await?, app.now());
    login::service::forgive(&mut tx, &row.email, now).await?;
    // Whatever changed the password meanwhile has closed this reset, too; a login that only renewed its hash has not, and the link still works.
    let is_new = accounts::repo::replace_password(&mut tx, &account, &row.password_hash, &password_hash).await? > 0;
    if !is_new || !repo::use_up(&mut tx, &token, now).await? {
        return Err(AppError::Invalid(format!("token: {}", members::unknown_token())));
    }
    let kind = Kind::PasswordReset(end_old_password(&mut tx, &account, None, from, now).await?);
    mail::outbox::put(&mut tx, app, &Mail { to: row.email, kind }).await?;
    audit::note(&mut tx, &Actor::owner(&account, from), Event::new(Action::ResetPassword, &account), &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
