//! Encrypts values in the database that must be readable again: authenticator seeds, emails with tokens. AES-256-GCM.
//!
//! A sealed value is: the format (1 byte), the length of the key's id (1 byte), the key's id, a random nonce (12 bytes), the ciphertext with its tag.
//! Everything before the nonce, and the purpose, is authenticated as associated data, so that a value cannot be moved to another row or use.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};

use super::keys::EncryptionKey;
use crate::infra::clock::Entropy;
use crate::infra::error::Error;

/// The only format so far.
const FORMAT: u8 = 1;
const NONCE: usize = 12;

/// Why a sealed value cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The format is unknown to this version.
    #[error("the sealed value has an unknown format")]
    Form,
    /// No key has its id.
    #[error("the sealed value was encrypted with a key that is not configured")]
    UnknownKey,
    /// It was changed, or belongs to another purpose.
    #[error("the sealed value is not authentic")]
    NotAuthentic,
}

/// The prefix of every value sealed with this key, and of no other value.
pub fn head(key: &EncryptionKey) -> Result<Vec<u8>, Error> {
    let mut head = vec![FORMAT, u8::try_from(key.id.len()).map_err(Error::internal)?];
    head.extend_from_slice(key.id.as_bytes());
    Ok(head)
}

/// Encrypts `plain` for `purpose`, such as `mail/` and the row's id. Decrypting it needs the same purpose.
pub fn seal(key: &EncryptionKey, entropy: &Entropy, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let mut sealed = head(key)?;
    let nonce = entropy.bytes::<NONCE>()?;
    let aad = associated(&sealed, purpose);
    let ciphertext =
        cipher(key).encrypt(&Nonce::from(nonce), Payload { msg: plain, aad: &aad }).map_err(|error| Error::internal(error.to_string()))?;
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&ciphertext);
    Ok(sealed)
}

/// Decrypts a value that [`seal`] encrypted for the same purpose with any of `keys`.
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

/// The associated data. The head contains its own length, so head and purpose cannot be confused.
fn associated(head: &[u8], purpose: &str) -> Vec<u8> {
    [head, purpose.as_bytes()].concat()
}
