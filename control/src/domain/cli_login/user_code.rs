//! The code that a user copies from a CLI into a browser (RFC 8628 section 6.1): short, made of consonants that are hard to confuse and form no words. The
//! code alone grants no access: anyone who has it can view the request, and decide on it for their own account.

use std::fmt;
use std::str::FromStr;

use shared::Invalid;

use crate::infra::clock::Entropy;

/// The alphabet.
pub const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// The number of letters: 34 bits.
const LENGTH: usize = 8;

/// A user code; displayed with a dash in the middle.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

impl UserCode {
    /// A new random code.
    pub fn random(entropy: &Entropy) -> Result<Self, getrandom::Error> {
        let mut text = String::new();
        while text.len() < LENGTH {
            // 240 is twelve times 20; larger bytes would make some letters more likely than others.
            let bytes = entropy.bytes::<16>()?.into_iter().filter(|byte| *byte < 240);
            let letters = bytes.filter_map(|byte| LETTERS.get(usize::from(byte) % LETTERS.len()));
            text.extend(letters.take(LENGTH - text.len()).map(|letter| char::from(*letter)));
        }
        Ok(Self(text))
    }

    /// The letters without the dash, as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses a code as typed: any case, with or without dashes and spaces.
impl FromStr for UserCode {
    type Err = Invalid;

    fn from_str(typed: &str) -> Result<Self, Invalid> {
        let text: String = typed.chars().filter(|letter| !matches!(letter, '-' | ' ')).map(|letter| letter.to_ascii_uppercase()).collect();
        let is_sound = text.len() == LENGTH && text.bytes().all(|letter| LETTERS.contains(&letter));
        if is_sound { Ok(Self(text)) } else { Err(Invalid::from("must be the eight letters that the CLI shows, such as BCDF-GHJK")) }
    }
}

impl fmt::Display for UserCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = self.0.split_at_checked(LENGTH / 2).unwrap_or((&self.0, ""));
        write!(formatter, "{left}-{right}")
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UserCode")
    }
}
