//! Tokens of mails' links.

use std::ops::Deref;
use std::str::FromStr;

use shared::Invalid;

use crate::domain::credentials::token::TokenHash;

/// The longest token that is worth looking up, in bytes.
const LONGEST: usize = 100;

/// The token of a mail's link, by which a registration or a reset is looked up. What cannot be one is refused as any other that is not known.
#[derive(Clone, Debug)]
pub struct MailedToken(TokenHash);

impl FromStr for MailedToken {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_sound = !text.is_empty() && text.len() <= LONGEST && text.is_ascii();
        if is_sound { Ok(Self(TokenHash::of(text))) } else { Err(unknown_token()) }
    }
}

impl Deref for MailedToken {
    type Target = TokenHash;

    fn deref(&self) -> &TokenHash {
        &self.0
    }
}

/// What is said of a token that is not known, was used, or is too old.
pub(crate) fn unknown_token() -> Invalid {
    Invalid::from("is not valid, was used, or is too old; ask for another mail")
}
