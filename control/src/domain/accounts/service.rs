//! The rules of accounts.

use std::borrow::Cow;

use serde_json::json;
use shared::Invalid;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::repo::{self, NewAccountRow};
use super::settings::AccountLimits;
use super::strength;
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::infra::clock::Dice;
use crate::infra::db::WriteTx;

/// An account to be made.
#[derive(Debug)]
pub struct NewAccount<'a> {
    /// The address.
    pub email: &'a Email,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string of the password: made before the transaction, since it takes long.
    pub password_hash: &'a str,
    /// What it may have.
    pub limits: AccountLimits,
}

/// The form in which an account's address is stored and compared.
pub fn normalise_email(email: &str) -> Result<String> {
    email.parse::<Email>().map(String::from).map_err(|fault| Error::invalid("email", fault))
}

/// A display name as it is stored. Refuses one that is empty, too long, or not plain text.
pub fn judge_name(name: &str) -> Result<Cow<'_, str>, Invalid> {
    shared::text::name(name, 255)
}

/// Judges a new password as [`strength::judge`] does, in a turn to work on a password, since it takes milliseconds. Errors: 503 while there is none.
pub async fn judge_password(app: &Context, from: ClientAddress, password: &str, known: Vec<String>) -> Result<Result<(), Invalid>> {
    let password = password.to_owned();
    Ok(app.password_turn(from).await?.spend(move || strength::judge(&password, &known)).await?)
}

/// Makes a verified account, in the transaction's last statements. Errors: 409 when the address has one.
pub async fn create(tx: &mut WriteTx, actor: &Actor, new: &NewAccount<'_>, dice: &Dice, now: UnixMillis) -> Result<AccountId> {
    let id = insert(tx, new, dice, now).await?;
    audit::note(tx, actor, Event::new(Action::CreateAccount, &id), dice, now).await?;
    Ok(id)
}

/// The same without its row in the audit trail, which the change writes that it is part of.
pub(crate) async fn insert(tx: &mut WriteTx, new: &NewAccount<'_>, dice: &Dice, now: UnixMillis) -> Result<AccountId> {
    let &NewAccount { email, name, password_hash, limits } = new;
    let id = AccountId::v7(now, dice.bytes()?);
    let row = NewAccountRow { id: &id, email, name, password_hash, limits, created: now };
    repo::insert(tx, &row).await.or_conflict(|| Conflict::AccountExists)?;
    Ok(id)
}

/// What is to change of what an account may have; what is `None` stays.
#[derive(Clone, Copy, Debug)]
pub struct LimitsPatch {
    /// API keys that are neither revoked nor expired.
    pub api_keys: Option<u32>,
    /// Days of daily history.
    pub retention_days: Option<u32>,
    /// The largest bundle, in bytes.
    pub upload_bytes: Option<u64>,
}

/// Changes what the account with this address may have, in the transaction's last statements. Errors: 404.
pub async fn set_limits(tx: &mut WriteTx, actor: &Actor, email: &Email, patch: LimitsPatch, dice: &Dice, now: UnixMillis) -> Result<()> {
    let LimitsPatch { api_keys, retention_days, upload_bytes } = patch;
    let account = repo::find_by_email(tx, email).await?.ok_or(Error::NotFound(Thing::Account))?;
    if repo::set_limits(tx, &account, api_keys, retention_days, upload_bytes).await? == 0 {
        return Err(Error::NotFound(Thing::Account));
    }
    let details = json!({ "maxApiKeys": api_keys, "retentionDays": retention_days, "maxUploadBytes": upload_bytes });
    audit::note(tx, actor, Event::new(Action::SetLimits, &account).with(details), dice, now).await
}

/// Locks these accounts, so that nothing else changes which apps they reach until the transaction ends; whether all of them are there.
pub async fn lock(tx: &mut WriteTx, accounts: &mut [&AccountId]) -> sqlx::Result<bool> {
    // In one order, so that nobody waits in a circle.
    accounts.sort_unstable();
    let mut found = 0;
    for account in accounts.iter() {
        found += u64::from(repo::hold(tx, account).await?.is_some());
    }
    Ok(usize::try_from(found) == Ok(accounts.len()))
}
