//! The keys that encrypt values in the database.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A key that encrypts authenticator seeds and queued emails, with the id that refers to it in the database.
#[derive(Clone)]
pub struct EncryptionKey {
    /// Stored with each encrypted value, for rotation.
    pub id: String,
    /// The AES-256 key.
    pub bytes: [u8; 32],
}

impl std::fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EncryptionKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl EncryptionKey {
    fn parse(text: &str) -> Option<Self> {
        let (id, key) = text.split_once(':')?;
        let bytes = STANDARD.decode(key).ok()?.try_into().ok()?;
        let plain = !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| Self { id: id.to_owned(), bytes })
    }
}

/// Encryption keys: the first encrypts, all decrypt.
#[derive(Clone, Debug)]
pub struct EncryptionKeys {
    first: EncryptionKey,
    /// All keys, including the first.
    all: Vec<EncryptionKey>,
}

impl EncryptionKeys {
    /// Parses a comma-separated list. The error never repeats a key.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let form = "must be a key ID (letters and digits), a colon, and 32 bytes in base64; separate several keys with commas";
        let all: Vec<EncryptionKey> =
            text.split(',').map(|part| EncryptionKey::parse(part.trim()).ok_or(form)).collect::<Result<_, _>>()?;
        let ids: HashSet<&str> = all.iter().map(|key| key.id.as_str()).collect();
        if ids.len() != all.len() {
            return Err("must not use the same key ID twice");
        }
        let first = all.first().cloned().ok_or(form)?;
        Ok(Self { first, all })
    }

    /// The key that encrypts.
    pub fn first(&self) -> &EncryptionKey {
        &self.first
    }

    /// The keys that decrypt.
    pub fn all(&self) -> &[EncryptionKey] {
        &self.all
    }
}
