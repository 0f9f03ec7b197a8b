//! Isolation of user-written text that is shown inside a sentence of ours.

use std::borrow::Cow;

/// Starts an isolate that takes the direction of its first strong character.
const FIRST_STRONG: char = '\u{2068}';
/// Ends an isolate.
const END: char = '\u{2069}';

/// Wraps each line in a Unicode isolate, so that the text cannot reorder what surrounds it. For output without HTML markup. Nothing in a line can
/// end its isolate early. Text that is left-to-right throughout is returned unchanged.
pub fn isolate(text: &str) -> Cow<'_, str> {
    if !text.chars().any(may_turn) {
        return Cow::Borrowed(text);
    }
    let mut isolated = String::with_capacity(text.len() + 6);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            isolated.push('\n');
        }
        isolate_line(&mut isolated, line);
    }
    Cow::Owned(isolated)
}

fn isolate_line(isolated: &mut String, line: &str) {
    isolated.push(FIRST_STRONG);
    let mut open = 0_usize;
    for character in line.chars() {
        match character {
            '\u{2066}'..='\u{2068}' => open += 1,
            // Would end our isolate.
            END if open == 0 => continue,
            END => open -= 1,
            _ => {}
        }
        isolated.push(character);
    }
    isolated.extend(std::iter::repeat_n(END, open + 1));
}

/// Whether the character may change the text direction: Unicode's blocks for right-to-left scripts, and the bidirectional controls.
fn may_turn(character: char) -> bool {
    matches!(character,
        '\u{590}'..='\u{8ff}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}
