//! The operator command that creates an access key.

use serde_json::json;

use crate::domain::access::operator::Operator;
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::ChangeContext;
use crate::domain::credentials::access_keys::repo;
use crate::domain::credentials::token::PlainToken;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::keys::access_keys;

/// Creates a named access key, valid for `ttl` milliseconds, and returns the plain token, which cannot be recovered later. No mail goes to the owner.
/// Errors: 400; 404; 409 if the account has a key of that name.
pub async fn create(operator: &Operator<'_>, email: &Email, friendly_name: &str, ttl: i64) -> Result<PlainToken> {
    let mut change = operator.begin().await?;
    let (entropy, now) = (change.context().entropy(), change.now());
    let account = accounts::repo::find_by_email(&mut change, email).await?.ok_or(Error::NotFound(Thing::Account))?;
    let token = access_keys::create(&mut change, &account, friendly_name, "127.0.0.1", ttl, entropy, now).await?;
    let key = repo::find_by_name(&mut change, &account, friendly_name).await?.ok_or(Error::NotFound(Thing::AccessKey))?;
    let event = Event::new(Action::CreateAccessKey, &key.id).with(json!({ "friendlyName": friendly_name, "expires": key.expires }));
    change.commit(event).await?;
    Ok(token)
}
