//! Paths from packages, so that everything in them can be seen. They come from uploads, and nothing here trusts them.

use std::borrow::Cow;

/// How many characters of a path [`brief_path`] keeps at its beginning and at its end.
const KEPT: (usize, usize) = (40, 60);

/// A path with everything written out that cannot be seen, that changes the order of what is seen, or that looks like a space: nobody mistakes such a name
/// for another. Backslashes are doubled, so that no name looks like one that is written out.
pub fn visible(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    // A space between two other characters shows itself, all others vanish in HTML or at an end.
    let mut is_after_text = false;
    let mut characters = path.chars().peekable();
    while let Some(character) = characters.next() {
        let is_before_text = characters.peek().is_some_and(|next| !matches!(next, ' ' | '/'));
        match character {
            ' ' if is_after_text && is_before_text => shown.push(' '),
            ' ' => shown.push_str("\\u{20}"),
            '\\' => shown.push_str("\\\\"),
            '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
            other if is_unseen(other) => shown.extend(other.escape_unicode()),
            other => shown.push(other),
        }
        is_after_text = !matches!(character, ' ' | '/');
    }
    shown
}

/// A path for a sentence: [`visible`], and without its middle if it has more than 100 characters.
pub fn brief_path(path: &str) -> String {
    let (first, last) = KEPT;
    let count = path.chars().count();
    let brief: Cow<'_, str> = if count <= first + last {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(path.chars().take(first).chain(['…']).chain(path.chars().skip(count - last)).collect())
    };
    visible(&brief)
}

/// Whether a character has no shape of its own: control characters, spaces that are not the usual one, and everything that Unicode calls default-ignorable
/// (zero-width characters, bidirectional controls, variation selectors, tags, fillers), with characters that fonts show as nothing.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_loses_its_middle() {
        assert_eq!(brief_path("CodePush/größe.png"), "CodePush/größe.png");
        assert_eq!(brief_path("a\u{1b}[2J\n\u{202e}b \\"), "a\\u{1b}[2J\\n\\u{202e}b \\\\");
        assert_eq!(brief_path(&"é".repeat(100)), "é".repeat(100));
        let long = format!("{}/{}", "a".repeat(500), "b".repeat(59));
        assert_eq!(brief_path(&long), format!("{}…/{}", "a".repeat(40), "b".repeat(59)));
    }

    #[test]
    fn what_cannot_be_seen_in_a_path_is_written_out() {
        for (path, shown) in [
            ("a\nb\u{1b}[0m/é.js", "a\\nb\\u{1b}[0m/é.js"),
            ("アプリ/图片 1.png", "アプリ/图片 1.png"),
            ("a\\u{200b}.js", "a\\\\u{200b}.js"),
            ("a.js ", "a.js\\u{20}"),
            (" a/ b  c /d", "\\u{20}a/\\u{20}b\\u{20}\\u{20}c\\u{20}/d"),
            ("👩\u{200d}💻.png", "👩\\u{200d}💻.png"),
        ] {
            assert_eq!(visible(path), shown);
        }
        // Each looks like a.js, or like nothing.
        for unseen in [
            '\0',
            '\u{7f}',
            '\u{85}',
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180e}',
            '\u{2003}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{202a}',
            '\u{202d}',
            '\u{202e}',
            '\u{202f}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{2800}',
            '\u{3000}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0061}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            let code = u32::from(unseen);
            assert_eq!(visible(&format!("a{unseen}.js")), format!("a\\u{{{code:x}}}.js"));
        }
    }
}
