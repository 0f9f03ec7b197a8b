//! The rules of accounts.

use std::borrow::Cow;

use shared::Invalid;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::repo::{self, NewAccountRow};
use super::settings::AccountLimits;
use super::strength;
use crate::domain::audit::ClientAddress;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::email::Email;
use crate::domain::error::{OrConflict, Result};
use crate::infra::clock::Entropy;
use crate::infra::db::WriteTx;

/// An account to create.
#[derive(Debug)]
pub struct NewAccount<'a> {
    /// The email.
    pub email: &'a Email,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string of the password. Hashing takes long, so it happens before the transaction.
    pub password_hash: &'a str,
    /// Its limits.
    pub limits: AccountLimits,
}

/// A display name in its stored form. Refuses names that are empty, too long, or not plain text.
pub fn validate_name(name: &str) -> Result<Cow<'_, str>, Invalid> {
    shared::text::name(name, 255)
}

/// Checks a new password with [`strength::validate`], in a turn for password work because it takes milliseconds. Errors: 503 if no turn is free.
pub async fn validate_password(app: &Context, from: ClientAddress, password: &str, known: Vec<String>) -> Result<Result<(), Invalid>> {
    let password = password.to_owned();
    Ok(app.password_permit(from).await?.spend(move || strength::validate(&password, &known)).await?)
}

/// Creates a verified account; the surrounding change writes the audit row. Errors: 409 when the address already has an account.
pub(crate) async fn insert(tx: &mut WriteTx, new: &NewAccount<'_>, entropy: &Entropy, now: UnixMillis) -> Result<AccountId> {
    let &NewAccount { email, name, password_hash, limits } = new;
    let id = AccountId::v7(now, entropy.bytes()?);
    let row = NewAccountRow { id: &id, email, name, password_hash, limits, created: now };
    repo::insert(tx, &row).await.or_conflict(|| Conflict::AccountExists)?;
    Ok(id)
}

/// Locks these accounts, so that their access to apps cannot change otherwise until the transaction ends. Returns whether all of them exist.
pub async fn lock(tx: &mut WriteTx, accounts: &mut [&AccountId]) -> sqlx::Result<bool> {
    // A fixed order, to prevent deadlocks.
    accounts.sort_unstable();
    let mut found = 0;
    for account in accounts.iter() {
        found += u64::from(repo::hold(tx, account).await?.is_some());
    }
    Ok(usize::try_from(found) == Ok(accounts.len()))
}
