//! The characters of names: nobody must be able to make one name look like another, or a name look like the words around it.

use std::borrow::Cow;

use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};

use super::nfc;
use crate::Invalid;

/// Joins emoji, and letters of some scripts.
const JOINER: char = '\u{200d}';
/// Keeps letters of some scripts apart.
const NON_JOINER: char = '\u{200c}';

/// The name in the form in which it is stored: normalization form C, of 1 to `most` characters, without control characters and without what
/// [`has_refused_character`] finds.
pub fn name(text: &str, most: usize) -> Result<Cow<'_, str>, Invalid> {
    // A character of the normal form takes few characters of four bytes at most; the test spares the work for a very long text.
    let normal = if text.len() > most * 16 { Cow::Borrowed("") } else { nfc(text) };
    check(&normal, most)?;
    Ok(normal)
}

/// The same of a text that is in its normal form already.
pub(crate) fn check(normal: &str, most: usize) -> Result<(), Invalid> {
    if normal.is_empty() || normal.len() > most * 4 || normal.chars().count() > most {
        return Err(Invalid::from(format!("must be 1 to {most} characters")));
    }
    if normal.chars().any(char::is_control) {
        return Err(Invalid::from("must not contain control characters"));
    }
    if has_refused_character(normal) {
        return Err(Invalid::from("must not contain characters that are invisible or change the direction of text"));
    }
    Ok(())
}

/// Whether the text contains a character that has no shape of its own, or turns the direction in which the rest is read. Joiners are such
/// characters except between letters, which many languages need, and in emoji.
pub fn has_refused_character(text: &str) -> bool {
    // Nearly every name.
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

/// Whether it has no shape of its own, or changes the direction of text, wherever it is.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        // Marks of direction, embeddings and overrides, isolates; the separators of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // No width, or no meaning that can be seen.
        | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        // Tags.
        | '\u{e0000}'..='\u{e007f}'
    )
}

/// A letter, or a mark that belongs to one: a virama stands before many joiners.
fn is_letter(character: char) -> bool {
    matches!(character.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark) && !is_variation(character)
}

fn is_emoji(character: char) -> bool {
    (character.is_emoji_char() && !character.is_ascii()) || is_variation(character)
}

/// A variation selector, which chooses between a picture and a text.
fn is_variation(character: char) -> bool {
    matches!(character, '\u{fe0e}' | '\u{fe0f}')
}
