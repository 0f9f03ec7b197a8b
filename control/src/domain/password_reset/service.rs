//! Password reset.

use serde_json::json;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::end_old_password;
use super::repo;
use crate::domain::access::anonymous::Anonymous;
use crate::domain::accounts::{self, strength};
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::credentials::token::PlainToken;
use crate::domain::credentials::{access_keys as keys, api_keys};
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::login;
use crate::domain::mail::{self, Kind, Mail, NewPassword};
use crate::domain::registration::service::{acquire, verify_human};
use crate::domain::registration::{MailedToken, unknown_token};
use crate::infra::db::WriteTx;

/// A password reset request. Each field is validated separately, so that all field errors are reported together with those of the password's
/// strength.
pub struct Reset {
    /// The token from the email.
    pub token: Result<MailedToken, Invalid>,
    /// The new password; its strength is checked later.
    pub password: Result<String, Invalid>,
    /// Whether to revoke the account's access keys and API keys too.
    pub revokes_keys: Result<bool, Invalid>,
}

/// Records a request for a password reset link; `answer` sends it if there is an account. So this does the same work for every address and does not
/// reveal whether it has an account. Several links may be open; using one closes the others. Errors: 400; 403 with a code if a challenge token is
/// required; 429.
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
    let rates = &app.settings.limits.unauthenticated;
    verify_human(app, from, challenge_token.as_deref(), Limit::MailRequests, rates.mail_requests).await?;

    let event = Event::about_email(Action::ForgotPassword, &email);
    let mut change = Anonymous::at(from).begin(app).await?;
    let now = change.now();
    if limits::acquire(&mut change, Limit::ResetMails, &Subject::email(&email), rates.reset_mails, now).await?.is_ok() {
        mail::outbox::enqueue(&mut change, app, &Mail { to: email.into(), kind: Kind::ForgotPassword }).await?;
    }
    change.commit(event).await
}

/// Sends the link requested at `asked`, if the address has an account and its password was not replaced since.
pub(crate) async fn answer(tx: &mut WriteTx, app: &Context, email: &str, asked: UnixMillis) -> Result<()> {
    let Some(account) = accounts::repo::find_by_email(tx, email).await? else { return Ok(()) };
    // A new password cancels earlier requests such as this one, and locks the account for that too.
    let locked = accounts::repo::hold(tx, &account).await?;
    if locked.is_none_or(|locked| asked < locked.cli_cancelled_time()) {
        return Ok(());
    }
    let (token, lifetime) = (PlainToken::mailed(&app.entropy)?, app.settings.limits.unauthenticated.reset_token);
    repo::insert(tx, &token.hash(), &account, app.now().plus_millis(lifetime)).await?;
    let kind = Kind::ResetPassword { link: mail::reset_password_link(&app.settings, token.reveal()), lifetime };
    mail::outbox::enqueue(tx, app, &Mail { to: email.to_owned(), kind }).await
}

/// Replaces the password. Revokes all sessions and CLI credentials, closes the other resets, clears the failed logins, revokes keys if requested, and
/// notifies the owner. The notice lists the keys and factors that remain, and is returned. Errors: 400 for a token that is unknown, used or expired,
/// and for a weak password, which leaves the token unused; 429.
pub async fn reset(app: &Context, from: ClientAddress, reset: Reset) -> Result<NewPassword> {
    let mut errors = FieldErrors::default();
    let token = errors.take("token", reset.token);
    let password = errors.take("password", reset.password);
    let revokes = errors.take("revokeKeys", reset.revokes_keys);
    if token.is_some() || password.is_some() {
        acquire(app, from, Limit::Posts, app.settings.limits.unauthenticated.posts).await?;
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
        errors.take("password", accounts::service::validate_password(app, from, password, known).await?);
    }
    let (Some(token), Some(password), Some(revokes), Some((account, row)), true) = (token, password, revokes, found, errors.is_empty())
    else {
        return Err(errors.into());
    };

    let password_hash = app.password_permit(from).await?.hash(&password).await?;
    let mut change = Anonymous::owner(&account, from).begin(app).await?;
    let now = change.now();
    login::service::forgive(&mut change, &row.email, now).await?;
    // A concurrent password change has closed this reset too. A login that only upgraded the hash has not, so the link still works.
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
    accounts::repo::restart_factors(&mut change, &account).await?;
    let notice = NewPassword { revoked_keys, ..end_old_password(&mut change, &account, None, from, now).await? };
    mail::notices::enqueue(&mut change, app, &account, &Mail { to: row.email, kind: Kind::PasswordReset(notice.clone()) }).await?;
    let mut event = Event::new(Action::ResetPassword, &account);
    if let Some(revoked) = revoked_keys {
        event = event.with(json!({ "revokedKeys": revoked }));
    }
    change.commit(event).await?;
    Ok(notice)
}
