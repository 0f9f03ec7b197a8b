//! User-written text: the characters allowed in names, the form in which they are stored, and how to show them next to other text. Also numbers, as
//! people read them.
//!
//! The rules for machine-written identifiers (keys, labels, IDs) are in [`crate::keys`] and [`crate::ids`]. Start reading at [`name()`].

mod figures;
mod isolate;
mod name;
mod parsed;
pub mod shell;
mod visible;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub use figures::{grouped, share, size};
pub use isolate::isolate;
pub(crate) use name::check;
pub use name::{has_refused_character, name};
pub(crate) use parsed::parsed_text;
pub use visible::{brief_path, visible};

use crate::Invalid;

/// Converts to Unicode normalization form C, so that a letter with a separate combining accent equals the precomposed letter.
pub fn nfc(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// The spellings under which a name may be stored, in lookup order: as given, because older names were stored unnormalized, then normalized
/// if that differs.
pub fn spellings(given: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let normal = Some(nfc(given)).filter(|normal| normal != given);
    std::iter::once(Cow::Borrowed(given)).chain(normal)
}

/// The form for case-insensitive comparison: normalized and case-folded.
pub fn fold(text: &str) -> String {
    unicase::UniCase::unicode(nfc(text)).to_folded_case().nfc().collect()
}

/// Rejects control characters in longer text, which is stored as sent. Tabs and line breaks are allowed.
pub fn check_prose(text: &str) -> Result<(), Invalid> {
    if text.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\r')) {
        return Err(Invalid::from("must not contain control characters other than tabs and line breaks"));
    }
    Ok(())
}
