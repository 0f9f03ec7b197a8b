//! Recovery codes.
//!
//! Only a code's HMAC-SHA256 is stored, under a key per account that is itself encrypted. So a stolen database alone does not even allow guessing,
//! and the codes still work after the encryption key is rotated.

use std::fmt;

use base32::Alphabet;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use shared::hash::Sha256Hex;
use shared::ids::AccountId;

use super::repo;
use crate::domain::access::LoginSession;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::domain::mail::{Kind, Mail, notices};
use crate::domain::second_factors::{Proof, step_up};
use crate::infra::crypto::seal;
use crate::infra::db::WriteTx;

/// Codes per account.
const COUNT: usize = 10;

/// 80 bits.
const CODE_BYTES: usize = 10;

/// Characters between dashes.
const GROUP: usize = 4;

const ALPHABET: Alphabet = Alphabet::Rfc4648Lower { padding: false };

/// Recovery codes, to be shown once. `Debug` does not print them.
pub struct Codes(Vec<String>);

impl Codes {
    /// The plain codes, for the one response that shows them.
    pub fn reveal(self) -> Vec<String> {
        self.0
    }
}

impl fmt::Debug for Codes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Codes")
    }
}

/// The encryption purpose of the HMAC key.
pub fn purpose(account: &str) -> String {
    format!("recovery/{account}")
}

/// Replaces all codes. The change must have locked the account.
pub async fn replace(change: &mut Change<'_>, account: &AccountId) -> Result<Codes> {
    let (app, now) = (change.context(), change.now());
    let key = app.entropy.bytes::<32>()?;
    let sealed = seal::seal(app.settings.encryption_keys.first(), &app.entropy, &purpose(account.as_str()), &key)?;
    repo::delete_all(change, account).await?;
    repo::set_key(change, account, &sealed, now).await?;
    let mut codes = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let plain = base32::encode(ALPHABET, &app.entropy.bytes::<CODE_BYTES>()?);
        repo::insert(change, account, &hash(&key, &plain)?).await?;
        codes.push(in_groups(&plain));
    }
    Ok(Codes(codes))
}

/// Regenerates the caller's codes. Errors: 403 without a proof; 409 if second factors are off; 429.
pub async fn regenerate(app: &Context, caller: &LoginSession, proof: Option<&Proof>) -> Result<Codes> {
    let (mut change, stepped_up) = step_up::begin(app, caller, proof).await?;
    if !stepped_up.were_on() {
        return Err(Error::Conflict(Conflict::FactorsOff));
    }
    let codes = replace(&mut change, stepped_up.account()).await?;
    let kind = Kind::RecoveryCodesReplaced { time: change.now(), address: caller.from().0.to_string() };
    notices::enqueue(&mut change, app, stepped_up.account(), &Mail { to: stepped_up.email().to_owned(), kind }).await?;
    change.commit(Event::new(Action::ReplaceRecoveryCodes, caller.account())).await?;
    Ok(codes)
}

/// Checks a recovery code of the account, and uses it up. The transaction must have locked the account.
pub async fn use_code(tx: &mut WriteTx, app: &Context, account: &AccountId, code: &str) -> Result<bool> {
    let Some(sealed) = repo::find_key(tx, account).await? else { return Ok(false) };
    let key = seal::open(app.settings.encryption_keys.all(), &purpose(account.as_str()), &sealed)?;
    Ok(repo::use_up(tx, account, &hash(&key, &normalized(code))?).await?)
}

fn hash(key: &[u8], code: &str) -> Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|error| Error::internal(error.to_string()))?;
    mac.update(code.as_bytes());
    Ok(Sha256Hex::from_digest(mac.finalize().into_bytes().into()).to_string())
}

/// A code as it is hashed: in lowercase, without dashes and whitespace.
fn normalized(code: &str) -> String {
    code.chars().filter(|character| *character != '-' && !character.is_whitespace()).flat_map(char::to_lowercase).collect()
}

fn in_groups(plain: &str) -> String {
    let mut text = String::with_capacity(plain.len() + plain.len() / GROUP);
    for (index, character) in plain.chars().enumerate() {
        if index > 0 && index % GROUP == 0 {
            text.push('-');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_of_a_typed_code_does_not_matter() {
        let plain = base32::encode(ALPHABET, &[0, 1, 2, 3, 4, 250, 251, 252, 253, 254]);
        let shown = in_groups(&plain);
        assert_eq!(shown.len(), 19);
        assert!(shown.split('-').all(|group| group.len() == 4), "{shown}");
        for typed in [&shown, &shown.to_uppercase(), &plain, &shown.replace('-', " "), &format!(" {shown}\n")] {
            assert_eq!(normalized(typed), plain);
        }
    }

    #[test]
    fn a_hash_depends_on_the_key() {
        assert_ne!(hash(&[1; 32], "code").unwrap(), hash(&[2; 32], "code").unwrap());
    }
}
