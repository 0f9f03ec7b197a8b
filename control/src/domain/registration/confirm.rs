//! Turns a registration into an account: by the token of its mail, and on the page also by a password.
//!
//! Anyone can register any address, and the email still goes to the address's owner. So the page asks for the password. If it differs from the
//! registered one, it either is refused or replaces that one: a password chosen by someone else never gives them access.

use std::net::IpAddr;

use shared::limit::wide_network;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::repo::{self, RegistrationRow};
use super::service::{acquire, must_be_open};
use super::{MailedToken, unknown_token};
use crate::domain::access::anonymous::Anonymous;
use crate::domain::access::awaited;
use crate::domain::accounts::service::{self as accounts, NewAccount};
use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::accounts::{Password, strength};
use crate::domain::audit::{Action, ClientAddress, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::limits::Limit;
use crate::infra::crypto::password;

/// A pending registration, as shown on the page to anyone with its token.
#[derive(Debug)]
pub struct Waiting {
    /// The email address.
    pub email: String,
    /// When the registration was created.
    pub time: UnixMillis,
    /// The client address that registered.
    pub address: String,
    /// The network of that address.
    pub network: String,
}

impl From<RegistrationRow> for Waiting {
    fn from(row: RegistrationRow) -> Self {
        let network = row.created_by.parse::<IpAddr>().map(wide_network).unwrap_or_default();
        Self { email: row.email, time: row.created_time, address: row.created_by, network }
    }
}

/// A confirmation request. Each field is validated separately, so that all field errors are reported at once.
#[derive(Debug)]
pub struct Confirmation {
    /// The token from the email.
    pub token: Result<MailedToken, Invalid>,
    /// The account's password; required if it replaces the registered one.
    pub password: Result<Option<Password>, Invalid>,
    /// Whether a password that differs from the registered one replaces it.
    pub replaces: Result<bool, Invalid>,
}

/// Finds the registration for this token without using up the token. It counts like a confirmation. Errors: 403 if registration is closed; 400 for a
/// token that is unknown, used or expired; 429.
pub async fn look_up(app: &Context, from: ClientAddress, token: Result<MailedToken, Invalid>) -> Result<Waiting> {
    must_be_open(app)?;
    let token = token.map_err(refused)?;
    acquire(app, from, Limit::Posts, app.settings.limits.unauthenticated.posts).await?;
    waiting(app, &token).await
}

/// The same without counting, for after a refused confirmation.
pub async fn waiting(app: &Context, token: &MailedToken) -> Result<Waiting> {
    Ok(find(app, token).await?.into())
}

/// Creates the account for the token's registration; all registrations of its address become decoys. A given password must match the registered one;
/// or it replaces that one and drops the registered name. Errors: 400 for a token that is unknown, used or expired, and for a weak replacement; 403
/// if registration is closed; 409 for a different password; 429. A refusal leaves the token unused.
pub async fn verify(app: &Context, from: ClientAddress, shown: Confirmation) -> Result<()> {
    must_be_open(app)?;
    let mut errors = FieldErrors::default();
    let token = errors.take("token", shown.token);
    let replaces = errors.take("replacePassword", shown.replaces);
    let password = match shown.password {
        Ok(None) if replaces == Some(true) => Err(Invalid::from("is required")),
        password => password,
    };
    let password = errors.take("password", password);
    let (Some(token), Some(replaces), Some(password)) = (token, replaces, password) else { return Err(errors.into()) };
    acquire(app, from, Limit::Posts, app.settings.limits.unauthenticated.posts).await?;
    let replacement = match password {
        Some(password) => compare(app, from, &find(app, &token).await?, &password, replaces).await?,
        None => None,
    };

    let mut change = Anonymous::at(from).begin(app).await?;
    let now = change.now();
    let found = repo::find(&mut change, &token, now, now.plus_millis(-PENDING_LIFETIME)).await?;
    let row = found.ok_or_else(|| refused(unknown_token()))?;
    // Logins still compare with the registered passwords, so that someone else who registered the address cannot tell when it became an account. Only
    // the password that the account takes over is not compared twice: once it is changed, it is an ordinary wrong password.
    let own = if replacement.is_none() { Some(password::unmatched(&app.entropy)?) } else { None };
    repo::retire(&mut change, &row.email, &token, own.as_deref()).await?;
    let (name, password_hash) = match replacement {
        Some(hash) => (None, hash),
        None => (row.name, row.password_hash),
    };
    let email = row.email.parse::<Email>().map_err(|fault| Error::invalid("email", fault))?;
    let limits = app.settings.limits.account;
    let account = NewAccount { email: &email, name: name.as_deref(), password_hash: &password_hash, limits };
    // Of two concurrent tokens for one address, the one that creates the account wins.
    let id = accounts::insert(&mut change, &account, &app.entropy, now).await.map_err(|error| match error {
        Error::Conflict(_) => refused(unknown_token()),
        other => other,
    })?;
    awaited::join(&mut change, &app.settings.limits.quotas, &email, &id, now).await?;
    change.commit(Event::new(Action::CreateAccount, &id)).await
}

/// Compares a password with the registered one. Returns the hash of a replacement.
async fn compare(app: &Context, from: ClientAddress, row: &RegistrationRow, password: &str, replaces: bool) -> Result<Option<String>> {
    if app.password_permit(from).await?.verify(password, Some(&row.password_hash)).await?.matches {
        return Ok(None);
    }
    if !replaces {
        return Err(Error::Conflict(Conflict::OtherPassword));
    }
    let validated =
        accounts::validate_password(app, from, password, strength::context(&app.settings.addresses(), &row.email, None)).await?;
    validated.map_err(|fault| Error::invalid("password", fault))?;
    app.password_permit(from).await?.hash(password).await.map(Some).map_err(Error::from)
}

async fn find(app: &Context, token: &MailedToken) -> Result<RegistrationRow> {
    let (mut tx, now) = (app.db.read().await?, app.now());
    let found = repo::find(&mut tx, token, now, now.plus_millis(-PENDING_LIFETIME)).await?;
    found.ok_or_else(|| refused(unknown_token()))
}

fn refused(fault: Invalid) -> Error {
    Error::invalid("token", fault)
}
