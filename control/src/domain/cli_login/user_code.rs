//! The code that a user copies from a command line into a browser (RFC 8628 part 6.1): short, of consonants that are hard to confuse and make no words.
//! It lets nobody in by itself; whoever has it can look at the request, and decide on it for an account of his own.

use std::fmt;
use std::str::FromStr;

use shared::Invalid;

use crate::infra::clock::Dice;

/// What codes are made of.
pub const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// How many letters: 34 bits.
const LENGTH: usize = 8;

/// A user code; shown with a dash in its middle.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

impl UserCode {
    /// A new one.
    pub fn random(dice: &Dice) -> Result<Self, getrandom::Error> {
        let mut text = String::new();
        while text.len() < LENGTH {
            // 240 is twelve times 20: a byte from there on would make some letters likelier than others.
            let bytes = dice.bytes::<16>()?.into_iter().filter(|byte| *byte < 240);
            let letters = bytes.filter_map(|byte| LETTERS.get(usize::from(byte) % LETTERS.len()));
            text.extend(letters.take(LENGTH - text.len()).map(|letter| char::from(*letter)));
        }
        Ok(Self(text))
    }

    /// The letters alone, as they are stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One as somebody typed it: in whatever case, with or without dashes and spaces.
impl FromStr for UserCode {
    type Err = Invalid;

    fn from_str(typed: &str) -> Result<Self, Invalid> {
        let text: String = typed.chars().filter(|letter| !matches!(letter, '-' | ' ')).map(|letter| letter.to_ascii_uppercase()).collect();
        let is_sound = text.len() == LENGTH && text.bytes().all(|letter| LETTERS.contains(&letter));
        if is_sound {
            Ok(Self(text))
        } else {
            Err(Invalid::from("must be eight letters such as BCDF-GHJK, as the command line shows them"))
        }
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
