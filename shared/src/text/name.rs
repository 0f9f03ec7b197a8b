//! The characters allowed in names: no name may imitate another name or the text around it.

use std::borrow::Cow;

use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};

use super::nfc;
use crate::Invalid;

/// Joins emoji, and letters in some scripts.
const JOINER: char = '\u{200d}';
/// Separates letters in some scripts.
const NON_JOINER: char = '\u{200c}';

/// Returns the name as it is stored: in normalization form C, 1 to `max` characters, without control characters and without those that
/// [`has_refused_character`] finds.
pub fn name(text: &str, max: usize) -> Result<Cow<'_, str>, Invalid> {
    // A normalized character comes from a few characters of at most four bytes, so the length alone rejects very long text.
    let normal = if text.len() > max * 16 { Cow::Borrowed("") } else { nfc(text) };
    check(&normal, max)?;
    Ok(normal)
}

/// Checks text that is already normalized.
pub(crate) fn check(normal: &str, max: usize) -> Result<(), Invalid> {
    if normal.is_empty() || normal.len() > max * 4 || normal.chars().count() > max {
        return Err(Invalid::from(format!("must be 1 to {max} characters")));
    }
    if normal.chars().any(char::is_control) {
        return Err(Invalid::from("must not contain control characters"));
    }
    if has_refused_character(normal) {
        return Err(Invalid::from("must not contain invisible characters or characters that change text direction"));
    }
    Ok(())
}

/// Whether the text contains an invisible character or one that changes the text direction. Joiners are allowed in emoji and between letters,
/// where many languages need them.
pub fn has_refused_character(text: &str) -> bool {
    // Fast path for nearly every name.
    if text.is_ascii() {
        return false;
    }
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_refused = match character {
            NON_JOINER => !(before.is_some_and(is_letter) && characters.peek().copied().is_some_and(is_letter)),
            JOINER => !before
                .zip(characters.peek().copied())
                .is_some_and(|(before, after)| (is_letter(before) && is_letter(after)) || (is_emoji(before) && is_emoji(after))),
            other => is_unseen(other),
        };
        if is_refused {
            return true;
        }
        before = Some(character);
    }
    false
}

/// Whether the character is invisible or changes the text direction in any position.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        // Direction marks, embeddings, overrides and isolates; line and paragraph separators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Zero-width characters and invisible operators.
        | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        // Tags.
        | '\u{e0000}'..='\u{e007f}'
    )
}

/// A letter or a mark on one: many joiners follow a virama.
fn is_letter(character: char) -> bool {
    matches!(character.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark) && !is_variation(character)
}

fn is_emoji(character: char) -> bool {
    (character.is_emoji_char() && !character.is_ascii()) || is_variation(character)
}

/// A variation selector, which chooses between emoji and text presentation.
fn is_variation(character: char) -> bool {
    matches!(character, '\u{fe0e}' | '\u{fe0f}')
}
