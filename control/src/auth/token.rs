//! Raw credentials and what is stored of them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::hash::Sha256Hex;

use crate::clock::Dice;

/// The prefix of a named access key (decisions section 3).
pub const NAMED_KEY_PREFIX: &str = "svc_ak_";

/// The prefix of a session, whether of the dashboard or of a command line.
pub const SESSION_PREFIX: &str = "svc_ss_";

/// A raw credential: shown once, never stored, never printed by `Debug`.
#[derive(Clone)]
pub struct PlainToken(String);

impl PlainToken {
    /// A new named access key: the prefix and 43 base64url characters (256 bits).
    pub fn named_key(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix(NAMED_KEY_PREFIX, dice)
    }

    /// A new session: its prefix and 256 bits.
    pub fn session(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix(SESSION_PREFIX, dice)
    }

    /// A new token for the link of a mail: 256 bits without a prefix, since it is no credential.
    pub fn mailed(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", dice)
    }

    fn with_prefix(prefix: &str, dice: &Dice) -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(dice.bytes::<32>()?))))
    }

    /// The raw text, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for PlainToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PlainToken")
    }
}

/// SHA-256 of a raw credential, in hex. A credential has 256 random bits, so that a plain hash cannot be searched, and looking it up by its hash
/// tells nothing about a near miss.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash of a raw credential.
    pub fn of(raw: &str) -> Self {
        Self(Sha256Hex::of(raw.as_bytes()).to_string())
    }

    /// The text that stands in the database.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenHash")
    }
}
