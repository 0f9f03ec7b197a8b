//! Tokens in mailed links.

use std::ops::Deref;
use std::str::FromStr;

use shared::Invalid;

use crate::domain::credentials::token::TokenHash;

/// The longest token to look up, in bytes.
const MAX_LENGTH: usize = 100;

/// The token in a mailed link, which identifies a registration or a password reset. A malformed token gets the same error as an unknown one.
#[derive(Clone, Debug)]
pub struct MailedToken(TokenHash);

impl FromStr for MailedToken {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_well_formed = !text.is_empty() && text.len() <= MAX_LENGTH && text.is_ascii();
        if is_well_formed { Ok(Self(TokenHash::of(text))) } else { Err(unknown_token()) }
    }
}

impl Deref for MailedToken {
    type Target = TokenHash;

    fn deref(&self) -> &TokenHash {
        &self.0
    }
}

/// The error for a token that is unknown, used or expired.
pub(crate) fn unknown_token() -> Invalid {
    Invalid::from("is not valid, was already used or has expired: request another email")
}
