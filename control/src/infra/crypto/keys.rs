//! The keys that encrypt what lies in the database.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A key that encrypts authenticator seeds and waiting mails, with the id under which it is named in the database.
#[derive(Clone)]
pub struct EncryptionKey {
    /// Names the key in what it encrypted, for rotation.
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

/// Encryption keys: the first seals, all open.
#[derive(Clone, Debug)]
pub struct EncryptionKeys {
    first: EncryptionKey,
    /// The first, and the others.
    all: Vec<EncryptionKey>,
}

impl EncryptionKeys {
    /// Reads a comma-separated list. The error says what is wrong, never a key.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let form = "must be a key id (letters and digits), a colon, and 32 bytes in base64; several of them are separated by commas";
        let all: Vec<EncryptionKey> =
            text.split(',').map(|part| EncryptionKey::parse(part.trim()).ok_or(form)).collect::<Result<_, _>>()?;
        let ids: HashSet<&str> = all.iter().map(|key| key.id.as_str()).collect();
        if ids.len() != all.len() {
            return Err("must not name two keys by the same id");
        }
        let first = all.first().cloned().ok_or(form)?;
        Ok(Self { first, all })
    }

    /// The key that seals.
    pub fn first(&self) -> &EncryptionKey {
        &self.first
    }

    /// The keys that open.
    pub fn all(&self) -> &[EncryptionKey] {
        &self.all
    }
}
