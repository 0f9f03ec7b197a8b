//! A key, as the client chose it.

use std::str::FromStr;

use shared::Invalid;

/// The longest key, in characters.
const MAX_LENGTH: usize = 255;

/// A client's name for one request. It means nothing to other accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_valid = (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_valid { Ok(Self(text.to_owned())) } else { Err(Invalid::from("must be 1 to 255 printable ASCII characters")) }
    }
}
