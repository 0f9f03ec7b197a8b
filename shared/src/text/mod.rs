//! Text that people write: which characters a name may have, in which form it is stored, and how it is shown beside other text.
//!
//! The rules of identifiers that programs write (keys, labels, ids) are in [`crate::keys`] and [`crate::ids`]. Start reading at [`name()`].

mod isolate;
mod name;
mod parsed;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub use isolate::isolate;
pub(crate) use name::check;
pub use name::{has_refused_character, name};
pub(crate) use parsed::parsed_text;

use crate::Invalid;

/// The text in Unicode's normalization form C: what looks the same because an accent was typed as a character of its own becomes the same.
pub fn nfc(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// The spellings under which a name may be stored, to be looked up in this order: as it was given, since names were once stored as they came, and
/// normalized where that is another text.
pub fn spellings(given: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let normal = Some(nfc(given)).filter(|normal| normal != given);
    std::iter::once(Cow::Borrowed(given)).chain(normal)
}

/// The form in which texts are compared that differ only in case: normalized and case folded.
pub fn fold(text: &str) -> String {
    unicase::UniCase::unicode(nfc(text)).to_folded_case().nfc().collect()
}

/// Refuses control characters in a longer text, which is stored as it was sent. Tabs and line ends are no control characters here.
pub fn check_prose(text: &str) -> Result<(), Invalid> {
    if text.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\r')) {
        return Err(Invalid::from("must not contain control characters other than tabs and line ends"));
    }
    Ok(())
}
