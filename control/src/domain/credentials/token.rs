//! Plain credentials and their stored hashes.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::hash::Sha256Hex;
use subtle::ConstantTimeEq;

use crate::infra::clock::Entropy;

/// The prefix of a named access key.
pub const NAMED_KEY_PREFIX: &str = "svc_ak_";

/// The prefix of a session, for the dashboard or a CLI.
pub const SESSION_PREFIX: &str = "svc_ss_";

/// The prefix of a login that waits for a second factor.
pub const PENDING_LOGIN_PREFIX: &str = "svc_pl_";
/// The length of the part after these prefixes: 256 bits in base64url.
const SECRET_LENGTH: usize = 43;

/// The prefix of every API key.
pub const API_KEY_PREFIX: &str = "svc_sk_live_";

/// The length of an API key's public prefix: [`API_KEY_PREFIX`] and 9 characters.
const API_KEY_PREFIX_LENGTH: usize = API_KEY_PREFIX.len() + 9;

/// The length of an API key: its public prefix and 32 characters.
const API_KEY_LENGTH: usize = API_KEY_PREFIX_LENGTH + 32;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A plain credential: shown once, never stored, and not printed by `Debug`.
#[derive(Clone)]
pub struct PlainToken(String);

impl PlainToken {
    /// A new named access key: the prefix and 43 base64url characters (256 bits).
    pub fn named_key(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix(NAMED_KEY_PREFIX, entropy)
    }

    /// A new session: its prefix and 256 bits.
    pub fn session(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix(SESSION_PREFIX, entropy)
    }

    /// A new pending login: its prefix and 256 bits.
    pub fn pending_login(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix(PENDING_LOGIN_PREFIX, entropy)
    }

    /// A new API key: its prefix, 9 public base62 characters and 32 secret ones (190 bits).
    pub fn api_key(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        let mut text = API_KEY_PREFIX.to_owned();
        while text.len() < API_KEY_LENGTH {
            // 248 is four times 62; larger bytes would make some characters more likely than others.
            let bytes = entropy.bytes::<64>()?.into_iter().filter(|byte| *byte < 248);
            let left = API_KEY_LENGTH - text.len();
            text.extend(bytes.filter_map(|byte| BASE62.get(usize::from(byte) % BASE62.len())).take(left).map(|byte| char::from(*byte)));
        }
        Ok(Self(text))
    }

    /// A new token for a link in an email: 256 bits. It has no prefix, because it is not a credential.
    pub fn mailed(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", entropy)
    }

    /// A new code for CLI authorization (RFC 6749 section 4.1.2, RFC 8628 section 3.2): 256 bits without a prefix.
    pub fn code(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", entropy)
    }

    /// A new token for a device cookie: 256 bits. It has no prefix, because it grants no access.
    pub fn device(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Self::with_prefix("", entropy)
    }

    fn with_prefix(prefix: &str, entropy: &Entropy) -> Result<Self, getrandom::Error> {
        Ok(Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(entropy.bytes::<32>()?))))
    }

    /// The plain text, for the one response that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash to store.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for PlainToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PlainToken")
    }
}

/// Whether a bearer token has the format of a named access key or a session. Any other text is not ours, whatever the database contains.
pub fn is_access_key(token: &str) -> bool {
    let secret = [NAMED_KEY_PREFIX, SESSION_PREFIX].iter().find_map(|prefix| token.strip_prefix(prefix));
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    secret.is_some_and(|secret| secret.len() == SECRET_LENGTH && secret.bytes().all(is_base64url))
}

/// Whether a bearer token starts like one of our credentials: then it was meant for us, even if it is invalid.
pub fn has_known_prefix(token: &str) -> bool {
    [NAMED_KEY_PREFIX, SESSION_PREFIX, PENDING_LOGIN_PREFIX, API_KEY_PREFIX].iter().any(|prefix| token.starts_with(prefix))
}

/// A bearer token in the format of an API key.
#[derive(Clone, Copy)]
pub struct ApiKeyToken<'a> {
    prefix: &'a str,
    whole: &'a str,
}

impl<'a> ApiKeyToken<'a> {
    /// Parses a token; `None` if it does not have the format.
    pub fn parse(token: &'a str) -> Option<Self> {
        let rest = token.strip_prefix(API_KEY_PREFIX)?;
        let is_valid = token.len() == API_KEY_LENGTH && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let prefix = token.get(..API_KEY_PREFIX_LENGTH).filter(|_| is_valid)?;
        Some(Self { prefix, whole: token })
    }

    /// The public prefix, for the lookup.
    pub fn prefix(&self) -> &'a str {
        self.prefix
    }

    /// The hash of the whole key.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.whole)
    }
}

impl fmt::Debug for ApiKeyToken<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKeyToken")
    }
}

/// The SHA-256 of a plain credential, in hex. A credential has at least 190 random bits, so its plain hash cannot be brute-forced. A lookup by hash reveals
/// nothing about near misses.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash of a plain credential.
    pub fn of(raw: &str) -> Self {
        Self(Sha256Hex::of(raw.as_bytes()).to_string())
    }

    /// Whether this equals the stored hash, in constant time.
    pub fn is_same_as(&self, stored: &str) -> bool {
        self.0.as_bytes().ct_eq(stored.as_bytes()).into()
    }

    /// The text that is stored in the database.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenHash")
    }
}
