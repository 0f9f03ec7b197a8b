//! The code that a user copies from a command line into a browser (RFC 8628 part 6.1): short, of consonants that are hard to confuse and make no words.
//! It lets nobody in by itself; whoever has it can look at the request, and decide on it for an account of his own.

use std::fmt;
use std::str::FromStr;

use shared::Invalid;

use crate::infra::clock::Dice;

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_eight_of_the_letters_and_every_letter_comes() {
        let codes: Vec<String> = (0..500).map(|_| UserCode::random(&Dice::System).unwrap().to_string()).collect();
        for code in &codes {
            let bytes = code.as_bytes();
            assert!(code.len() == 9 && bytes[4] == b'-', "{code}");
            assert!(bytes.iter().enumerate().all(|(place, letter)| place == 4 || LETTERS.contains(letter)), "{code}");
        }
        assert!(LETTERS.iter().all(|letter| codes.concat().as_bytes().contains(letter)));
    }

    #[test]
    fn case_dashes_and_spaces_do_not_matter() {
        for typed in ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-c-D-f-G-h-J-k", "--BCDFGHJK"] {
            assert_eq!(typed.parse::<UserCode>().unwrap().to_string(), "BCDF-GHJK", "{typed}");
        }
        for typed in ["", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF_GHJK", "BCDF-GHJ1", "BCDF\u{2013}GHJK", "bcdfghj\u{212a}"] {
            assert!(typed.parse::<UserCode>().is_err(), "{typed}");
        }
    }
}
