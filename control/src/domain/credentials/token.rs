//! Raw credentials and what is stored of them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::hash::Sha256Hex;
use subtle::ConstantTimeEq;

use crate::infra::clock::Dice;

/// The prefix of a named access key.
pub const NAMED_KEY_PREFIX: &str = "svc_ak_";

/// The prefix of a session, whether of the dashboard or of a command line.
pub const SESSION_PREFIX: &str = "svc_ss_";

/// The prefix of a login that waits for a second factor.
pub const PENDING_LOGIN_PREFIX: &str = "svc_pl_";
/// The length of what follows either prefix: 256 bits in base64url.
const KEY_SECRET: usize = 43;

/// The beginning of every API key.
pub const API_KEY_PREFIX: &str = "svc_sk_live_";

/// The length of an API key's public half: [`API_KEY_PREFIX`] and 9 characters.
const API_KEY_PUBLIC: usize = API_KEY_PREFIX.len() + 9;

/// The length of an API key: its public half and 32 characters.
const API_KEY_LENGTH: usize = API_KEY_PUBLIC + 32;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

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

    /// A new pending login: its prefix and 256 bits.
    pub fn pending_login(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix(PENDING_LOGIN_PREFIX, dice)
    }

    /// A new API key: its beginning, 9 public base62 characters and 32 secret ones (190 bits).
    pub fn api_key(dice: &Dice) -> Result<Self, getrandom::Error> {
        let mut text = API_KEY_PREFIX.to_owned();
        while text.len() < API_KEY_LENGTH {
            // 248 is four times 62: a byte from there on would make some characters likelier than others.
            let bytes = dice.bytes::<64>()?.into_iter().filter(|byte| *byte < 248);
            let left = API_KEY_LENGTH - text.len();
            text.extend(bytes.filter_map(|byte| BASE62.get(usize::from(byte) % BASE62.len())).take(left).map(|byte| char::from(*byte)));
        }
        Ok(Self(text))
    }

    /// A new token for the link of a mail: 256 bits without a prefix, since it is no credential.
    pub fn mailed(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", dice)
    }

    /// A new code of a command line's login (RFC 6749 part 4.1.2, RFC 8628 part 3.2): 256 bits without a prefix.
    pub fn code(dice: &Dice) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", dice)
    }

    /// A new token for a device cookie: 256 bits without a prefix, since it lets nobody in.
    pub fn device(dice: &Dice) -> Result<Self, getrandom::Error> {
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

/// Whether a bearer token has the form of a named access key or of a session; what has not is none of ours, whatever the database holds.
pub fn is_access_key(token: &str) -> bool {
    let secret = [NAMED_KEY_PREFIX, SESSION_PREFIX].iter().find_map(|prefix| token.strip_prefix(prefix));
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    secret.is_some_and(|secret| secret.len() == KEY_SECRET && secret.bytes().all(is_base64url))
}

/// Whether a bearer token begins as our credentials do: such a one was meant for us, whatever is wrong with it.
pub fn has_known_prefix(token: &str) -> bool {
    [NAMED_KEY_PREFIX, SESSION_PREFIX, PENDING_LOGIN_PREFIX, API_KEY_PREFIX].iter().any(|prefix| token.starts_with(prefix))
}

/// A bearer token that has the form of an API key.
#[derive(Clone, Copy)]
pub struct ApiKeyToken<'a> {
    prefix: &'a str,
    whole: &'a str,
}

impl<'a> ApiKeyToken<'a> {
    /// The token, when it has the form; what has not is none of ours.
    pub fn parse(token: &'a str) -> Option<Self> {
        let rest = token.strip_prefix(API_KEY_PREFIX)?;
        let is_sound = token.len() == API_KEY_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let prefix = token.get(..API_KEY_PUBLIC).filter(|_| is_sound)?;
        Some(Self { prefix, whole: token })
    }

    /// The public half, by which it is found.
    pub fn prefix(&self) -> &'a str {
        self.prefix
    }

    /// The hash of the whole.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.whole)
    }
}

impl fmt::Debug for ApiKeyToken<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKeyToken")
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

    /// Whether this is the hash that stands in the database, asked in a time that does not depend on where they differ.
    pub fn is_same_as(&self, stored: &str) -> bool {
        self.0.as_bytes().ct_eq(stored.as_bytes()).into()
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
