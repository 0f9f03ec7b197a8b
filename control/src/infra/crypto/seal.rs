//! What must be read again and yet not lie open in the database: authenticator seeds, mails that carry a token. AES-256-GCM.
//!
//! A sealed value is: the format (1 byte), the length of the key's id (1 byte), the key's id, 12 random bytes, the ciphertext with its tag.
//! Everything before the random bytes, and the purpose, is authenticated with it, so that a value cannot be moved to another row or use.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};

use super::keys::EncryptionKey;
use crate::infra::clock::Dice;
use crate::infra::error::Error;

/// The one format so far.
const FORMAT: u8 = 1;
const NONCE: usize = 12;

/// Why a sealed value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is not of a form that this version writes.
    #[error("the sealed value has an unknown form")]
    Form,
    /// None of the keys has its id.
    #[error("the sealed value was made with a key that is not among those given")]
    UnknownKey,
    /// It was changed, or belongs to something else.
    #[error("the sealed value is not authentic")]
    NotAuthentic,
}

/// What every value begins with that is sealed with this key, and no other.
pub fn head(key: &EncryptionKey) -> Result<Vec<u8>, Error> {
    let mut head = vec![FORMAT, u8::try_from(key.id.len()).map_err(Error::internal)?];
    head.extend_from_slice(key.id.as_bytes());
    Ok(head)
}

/// Encrypts `plain` for `purpose`, such as `mail/` and the row's id: only the same purpose opens it.
pub fn seal(key: &EncryptionKey, dice: &Dice, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let mut sealed = head(key)?;
    let nonce = dice.bytes::<NONCE>()?;
    let aad = associated(&sealed, purpose);
    let ciphertext =
        cipher(key).encrypt(&Nonce::from(nonce), Payload { msg: plain, aad: &aad }).map_err(|error| Error::internal(error.to_string()))?;
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&ciphertext);
    Ok(sealed)
}

/// Decrypts what [`seal`] made for the same purpose with any of `keys`.
pub fn open(keys: &[EncryptionKey], purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
    let id = key_id(sealed)?;
    let (head, rest) = sealed.split_at_checked(2 + id.len()).ok_or(OpenError::Form)?;
    let (nonce, ciphertext) = rest.split_first_chunk::<NONCE>().ok_or(OpenError::Form)?;
    let key = keys.iter().find(|key| key.id.as_bytes() == id).ok_or(OpenError::UnknownKey)?;
    let aad = associated(head, purpose);
    cipher(key).decrypt(&Nonce::from(*nonce), Payload { msg: ciphertext, aad: &aad }).map_err(|_| OpenError::NotAuthentic)
}

/// The id of the key that a value was sealed with.
pub fn key_id(sealed: &[u8]) -> Result<&[u8], OpenError> {
    let [FORMAT, length, rest @ ..] = sealed else { return Err(OpenError::Form) };
    Ok(rest.split_at_checked(usize::from(*length)).ok_or(OpenError::Form)?.0)
}

fn cipher(key: &EncryptionKey) -> Aes256Gcm {
    Aes256Gcm::new(&Key::<Aes256Gcm>::from(key.bytes))
}

/// The head names its own length, so that head and purpose cannot run into each other.
fn associated(head: &[u8], purpose: &str) -> Vec<u8> {
    [head, purpose.as_bytes()].concat()
}
