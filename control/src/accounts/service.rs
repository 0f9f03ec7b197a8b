//! The rules of accounts.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::repo::{self, NewAccountRow};
use crate::auth::password;
use crate::clock::Dice;
use crate::db::WriteTx;
use crate::error::{AppError, AppResult, OrConflict};

/// An account to be made.
#[derive(Debug)]
pub struct NewAccount<'a> {
    /// The address, as it was given.
    pub email: &'a str,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string of the password: made before the transaction, since it takes long.
    pub password_hash: &'a str,
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: u64,
}

/// The form in which addresses are stored and compared: trimmed, in lower case.
pub fn normalise_email(email: &str) -> AppResult<String> {
    let email = email.trim().to_lowercase();
    let plain = |character: char| !character.is_whitespace() && !character.is_control();
    let parts = email.split_once('@');
    let sound = parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    // A colon, slash, question mark or hash would make `owner:app` and paths ambiguous.
    let separators = ['\\', '/', '?', '#', '*', ':'];
    if !sound || email.chars().count() > 255 || !email.chars().all(plain) || email.contains(separators) {
        return Err(AppError::Invalid("email: must be an e-mail address of at most 255 characters".to_owned()));
    }
    Ok(email)
}

/// Refuses a password that is too short, too long, or easily guessed, also from what is known of its owner (decisions section 5).
pub fn check_password(password: &str, known: &[&str]) -> AppResult<()> {
    if !password::LENGTH.contains(&password.chars().count()) {
        return Err(AppError::Invalid("password: must be 12 to 1000 characters".to_owned()));
    }
    if zxcvbn::zxcvbn(password, known).score() < zxcvbn::Score::Three {
        return Err(AppError::Invalid("password: is too easily guessed; a few unrelated words make a good one".to_owned()));
    }
    Ok(())
}

/// Makes a verified account.
pub async fn create(tx: &mut WriteTx, new: &NewAccount<'_>, dice: &Dice, now: UnixMillis) -> AppResult<AccountId> {
    let email = normalise_email(new.email)?;
    let id = AccountId::v7(now, dice.bytes()?);
    let row = NewAccountRow {
        id: &id,
        email: &email,
        name: new.name,
        password_hash: new.password_hash,
        max_upload_bytes: i64::try_from(new.max_upload_bytes).unwrap_or(i64::MAX),
        created: now,
    };
    repo::insert(tx, &row).await.or_conflict(|| "an account with this e-mail address exists".to_owned())?;
    Ok(id)
}
