//! How a registration becomes an account: by the token of its mail, and on the page by a password.
//!
//! Anybody can register any address, and the mail goes to its owner all the same. So the page asks the owner for the password, and one that is not the
//! registered one either confirms nothing or takes its place: what a stranger chose never lets the stranger in.

use std::net::IpAddr;

use shared::limit::wide_network;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use super::repo::{self, RegistrationRow};
use super::service::{admit, must_be_open};
use super::{MailedToken, unknown_token};
use crate::domain::accounts::service::{self as accounts, NewAccount};
use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::accounts::{Password, strength};
use crate::domain::audit::{Action, Actor, ClientAddress, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::limits::Limit;
use crate::infra::crypto::password;

/// A registration that waits, as the page shows it to whoever has its token.
#[derive(Debug)]
pub struct Waiting {
    /// The e-mail address.
    pub email: String,
    /// When it was registered.
    pub time: UnixMillis,
    /// The client's address then.
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

/// What confirms a registration, each part judged by itself: what is wrong with several is told at once.
#[derive(Debug)]
pub struct Confirmation {
    /// The token of the mail.
    pub token: Result<MailedToken, Invalid>,
    /// The password that the account is to have; needed where it replaces the registered one.
    pub password: Result<Option<Password>, Invalid>,
    /// Whether another password than the registered one takes its place.
    pub replaces: Result<bool, Invalid>,
}

/// What waits for this token, which is not used up by it. It counts like a confirmation. Errors: 403 when registration is closed, 400 for a token that
/// is not known, was used, or is too old, 429.
pub async fn look_up(app: &Context, from: ClientAddress, token: Result<MailedToken, Invalid>) -> Result<Waiting> {
    must_be_open(app)?;
    let token = token.map_err(refused)?;
    admit(app, from, Limit::Posts, app.settings.limits.strangers.posts).await?;
    waiting(app, &token).await
}

/// The same after a confirmation that was refused and has counted.
pub async fn waiting(app: &Context, token: &MailedToken) -> Result<Waiting> {
    Ok(find(app, token).await?.into())
}

/// Creates the account of the registration that the token belongs to; all registrations of its address become decoys. A password that is given must be
/// the registered one, or replaces it and drops the registered name. Errors: 400 for a token that is not known, was used, or is too old, and for a
/// replacement that is too easily guessed, 403 when registration is closed, 409 for another password, 429. What is refused leaves the token as it was.
pub async fn verify(app: &Context, from: ClientAddress, shown: Confirmation) -> Result<()> {
    must_be_open(app)?;
    let mut errors = FieldErrors::default();
    let token = errors.take("token", shown.token);
    let replaces = errors.take("replacePassword", shown.replaces);
    let password = match shown.password {
        Ok(None) if replaces == Some(true) => Err(Invalid::from("is needed")),
        password => password,
    };
    let password = errors.take("password", password);
    let (Some(token), Some(replaces), Some(password)) = (token, replaces, password) else { return Err(errors.into()) };
    admit(app, from, Limit::Posts, app.settings.limits.strangers.posts).await?;
    let replacement = match password {
        Some(password) => compare(app, from, &find(app, &token).await?, &password, replaces).await?,
        None => None,
    };

    let mut change = Change::begin(app, Actor::stranger(from)).await?;
    let now = change.now();
    let found = repo::find(&mut change, &token, now, now.plus_millis(-PENDING_LIFETIME)).await?;
    let row = found.ok_or_else(|| refused(unknown_token()))?;
    // A login meets what was registered as before, so that a stranger who registered the address does not learn when it became an account. Only the password
    // that the account takes over is not met a second time: once it is changed, it is no more than a wrong one.
    let own = if replacement.is_none() { Some(password::unmatched(&app.dice)?) } else { None };
    repo::retire(&mut change, &row.email, &token, own.as_deref()).await?;
    let (name, password_hash) = match replacement {
        Some(hash) => (None, hash),
        None => (row.name, row.password_hash),
    };
    let email = row.email.parse::<Email>().map_err(|fault| Error::invalid("email", fault))?;
    let limits = app.settings.limits.account;
    let account = NewAccount { email: &email, name: name.as_deref(), password_hash: &password_hash, limits };
    // Of two tokens of one address that are shown at once, the one that makes the account was the first.
    let id = accounts::insert(&mut change, &account, &app.dice, now).await.map_err(|error| match error {
        Error::Conflict(_) => refused(unknown_token()),
        other => other,
    })?;
    change.commit(Event::new(Action::CreateAccount, &id)).await
}

/// Compares a password with the registered one. Gives the hash of one that takes its place.
async fn compare(app: &Context, from: ClientAddress, row: &RegistrationRow, password: &str, replaces: bool) -> Result<Option<String>> {
    if app.password_turn(from).await?.verify(password, Some(&row.password_hash)).await?.matches {
        return Ok(None);
    }
    if !replaces {
        return Err(Error::Conflict(Conflict::OtherPassword));
    }
    let judged = accounts::judge_password(app, from, password, strength::context(&app.settings.addresses(), &row.email, None)).await?;
    judged.map_err(|fault| Error::invalid("password", fault))?;
    app.password_turn(from).await?.hash(password).await.map(Some).map_err(Error::from)
}

async fn find(app: &Context, token: &MailedToken) -> Result<RegistrationRow> {
    let (mut tx, now) = (app.db.read().await?, app.now());
    let found = repo::find(&mut tx, token, now, now.plus_millis(-PENDING_LIFETIME)).await?;
    found.ok_or_else(|| refused(unknown_token()))
}

fn refused(fault: Invalid) -> Error {
    Error::invalid("token", fault)
}
