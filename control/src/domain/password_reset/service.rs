//! The rules of password resets.

use serde_json::json;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::end_old_password;
use super::repo;
use crate::domain::accounts::{self, strength};
use crate::domain::audit::{Action, Actor, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::token::PlainToken;
use crate::domain::credentials::{access_keys as keys, api_keys};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::mail::{self, Kind, Mail, NewPassword};
use crate::domain::registration::service::{admit, admit_human};
use crate::domain::registration::{MailedToken, unknown_token};
use crate::domain::second_factors::factors;
use crate::domain::{cli_login as cli, login};
use crate::infra::db::WriteTx;

/// A new password in the place of a forgotten one, each part judged by itself: what is wrong with them is told with what is wrong with the password.
pub struct Reset {
    /// The token of the mail.
    pub token: Result<MailedToken, Invalid>,
    /// The new password; whether it is good enough is judged in its turn.
    pub password: Result<String, Invalid>,
    /// Whether the account's access keys and API keys are revoked, too.
    pub revokes_keys: Result<bool, Invalid>,
}

/// Notes that somebody asks for a link that takes a new password: `answer` sends it, if there is an account. So this does the same for every address,
/// and nobody learns whether there is one. Several links may be open; the first that is used closes the others. Errors: 400, 403 with a code when a
/// challenge token is needed, 429.
pub async fn forgot(
    app: &Context,
    from: ClientAddress,
    email: Result<Email, Invalid>,
    challenge_token: Result<Option<String>, Invalid>,
) -> Result<()> {
    let mut errors = FieldErrors::default();
    let email = errors.take("email", email);
    let challenge_token = errors.take("challengeToken", challenge_token);
    let (Some(email), Some(challenge_token)) = (email, challenge_token) else { return Err(errors.into()) };
    let rates = &app.settings.limits.strangers;
    admit_human(app, from, challenge_token.as_deref(), Limit::MailRequests, rates.mail_requests).await?;

    let event = Event::about_email(Action::ForgotPassword, &email);
    let mut change = Change::begin(app, Actor::stranger(from)).await?;
    let now = change.now();
    if limits::admit(&mut change, Limit::ResetMails, &Subject::email(&email), rates.reset_mails, now).await?.is_ok() {
        mail::outbox::put(&mut change, app, &Mail { to: email.into(), kind: Kind::ForgotPassword }).await?;
    }
    change.commit(event).await
}

/// Sends the link that somebody asked for at `asked`, if the address has an account and its password was not replaced since.
pub(crate) async fn answer(tx: &mut WriteTx, app: &Context, email: &str, asked: UnixMillis) -> Result<()> {
    let Some(account) = accounts::repo::find_by_email(tx, email).await? else { return Ok(()) };
    // A new password cancels what was asked for before, such as this, and does so in its turn.
    if accounts::repo::hold(tx, &account).await?.is_none() {
        return Ok(());
    }
    if asked < cli::repo::cancelled_time(tx, &account).await? {
        return Ok(());
    }
    let (token, lifetime) = (PlainToken::mailed(&app.dice)?, app.settings.limits.strangers.reset_token);
    repo::insert(tx, &token.hash(), &account, app.now().plus_millis(lifetime)).await?;
    let kind = Kind::ResetPassword { link: mail::reset_password_link(&app.settings, token.reveal()), lifetime };
    mail::outbox::put(tx, app, &Mail { to: email.to_owned(), kind }).await
}

/// Puts a new password in the place of the old one. It ends every session and every command line's credential, closes the other resets, forgives the
/// failed logins, revokes the keys if that is asked for, and tells the owner, with the keys and factors that stay, which are given, too. Errors: 400 for
/// a token that is not known, was used or is too old, and for a password that is too easily guessed, which leaves the token as it was; 429.
pub async fn reset(app: &Context, from: ClientAddress, reset: Reset) -> Result<NewPassword> {
    let mut errors = FieldErrors::default();
    let token = errors.take("token", reset.token);
    let password = errors.take("password", reset.password);
    let revokes = errors.take("revokeKeys", reset.revokes_keys);
    if token.is_some() || password.is_some() {
        admit(app, from, Limit::Posts, app.settings.limits.strangers.posts).await?;
    }
    let mut found = None;
    if let Some(token) = &token {
        let mut tx = app.db.read().await?;
        if let Some(account) = repo::find(&mut tx, token, app.now()).await? {
            found = accounts::repo::find(&mut tx, &account).await?.map(|row| (account, row));
        }
        errors.take("token", found.as_ref().ok_or_else(unknown_token));
    }
    if let Some(password) = &password {
        let (email, name) = found.as_ref().map(|(_, row)| (row.email.as_str(), row.name.as_deref())).unwrap_or_default();
        let known = strength::context(&app.settings.addresses(), email, name);
        errors.take("password", accounts::service::judge_password(app, from, password, known).await?);
    }
    let (Some(token), Some(password), Some(revokes), Some((account, row)), true) = (token, password, revokes, found, errors.is_empty())
    else {
        return Err(errors.into());
    };

    let password_hash = app.password_turn(from).await?.hash(&password).await?;
    let mut change = Change::begin(app, Actor::owner(&account, from)).await?;
    let now = change.now();
    login::service::forgive(&mut change, &row.email, now).await?;
    // Whatever changed the password meanwhile has closed this reset, too; a login that only renewed its hash has not, and the link still works.
    let is_new = accounts::repo::replace_password(&mut change, &account, &row.password_hash, &password_hash).await? > 0;
    if !is_new || !repo::use_up(&mut change, &token, now).await? {
        return Err(Error::invalid("token", unknown_token()));
    }
    let revoked_keys = if revokes {
        let named = keys::repo::delete_named(&mut change, &account).await?;
        let of_programs = api_keys::repo::revoke_all(&mut change, &account, now).await?;
        Some(u64::try_from(named.len() + of_programs.len()).unwrap_or(u64::MAX))
    } else {
        None
    };
    factors::restart(&mut change, &account).await?;
    let notice = NewPassword { revoked_keys, ..end_old_password(&mut change, &account, None, from, now).await? };
    mail::notices::put(&mut change, app, &account, &Mail { to: row.email, kind: Kind::PasswordReset(notice.clone()) }).await?;
    let mut event = Event::new(Action::ResetPassword, &account);
    if let Some(revoked) = revoked_keys {
        event = event.with(json!({ "revokedKeys": revoked }));
    }
    change.commit(event).await?;
    Ok(notice)
}
