//! The tokens of a range: whitespace, optional blanks after operators, and partial versions.

use semver::{BuildMetadata, Prerelease};

/// JavaScript's whitespace, which differs slightly from Unicode's.
pub(super) fn is_space(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Trims the text and collapses each run of whitespace to one blank.
pub(super) fn collapse_spaces(text: &str) -> String {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A version whose parts may be missing or placeholders, such as `1.x` or `1.2.3-beta`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial<'t> {
    /// The numbers before the first missing part or placeholder; `None` after that. Numbers beyond 64 bits saturate, far above what a version may
    /// have.
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    pub(super) patch: Option<u64>,
    /// The pre-release; empty if there is none.
    pub(super) pre: &'t str,
}

impl<'t> Partial<'t> {
    /// Parses all of `text`. Any mix of `v`, `=` and blanks may precede the version; if all three numbers are present, strict parsing checks that
    /// prefix again.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let core = text.trim_start_matches(['v', '=', ' ']);
        let (major, rest) = part(core)?;
        let Some(rest) = rest.strip_prefix('.') else {
            return rest.is_empty().then(|| Self::new([major, None, None], ""));
        };
        let (minor, rest) = part(rest)?;
        let Some(rest) = rest.strip_prefix('.') else {
            return rest.is_empty().then(|| Self::new([major, minor, None], ""));
        };
        let (patch, rest) = part(rest)?;
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let pre = match rest.strip_prefix('-') {
            Some(pre) if !pre.is_empty() && Prerelease::new(pre).is_ok() => pre,
            None if rest.is_empty() => "",
            _ => return None,
        };
        let has_sound_build = build.is_none_or(|build| !build.is_empty() && BuildMetadata::new(build).is_ok());
        has_sound_build.then(|| Self::new([major, minor, patch], pre))
    }

    fn new([major, minor, patch]: [Option<u64>; 3], pre: &'t str) -> Self {
        let minor = major.and(minor);
        Self { major, minor, patch: minor.and(patch), pre }
    }

    /// Whether all three numbers are present.
    pub(super) fn is_full(&self) -> bool {
        self.patch.is_some()
    }
}

/// Splits off a number without leading zeros, or a placeholder (inner `None`).
fn part(text: &str) -> Option<(Option<u64>, &str)> {
    if let Some(rest) = text.strip_prefix(['x', 'X', '*']) {
        return Some((None, rest));
    }
    let (number, rest) = text.split_at_checked(text.bytes().take_while(u8::is_ascii_digit).count())?;
    if number.is_empty() || (number.starts_with('0') && number.len() > 1) {
        return None;
    }
    Some((Some(number.parse().unwrap_or(u64::MAX)), rest))
}

/// Removes the single blank allowed between an operator and its operand: `>= 1.2` becomes `>=1.2`, `~ 1` becomes `~1`.
///
/// Like node, it searches the whole text for operator and operand. An `=` that the search already took as the start of an operand (as in `v= 1`)
/// keeps its blank, which makes the range invalid.
pub(super) fn join_operators(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((blank, operator, operand, after)) = operation(rest) {
            joined.extend([blank, operator, operand]);
            rest = after;
        } else {
            joined.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    joined.replace("~> ", "~").replace("~ ", "~").replace("^ ", "^")
}

/// Splits off a blank, an operator (both may be empty) and an operand from the start of `text`.
fn operation(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (blank, rest) = text.split_at_checked(usize::from(text.starts_with(' ')))?;
    let relation = usize::from(rest.starts_with(['<', '>']));
    let equals = usize::from(rest.get(relation..)?.starts_with('='));
    let (operator, rest) = rest.split_at_checked(relation + equals)?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let core = rest.trim_start_matches(['v', '=', ' ']);
    let (operand, after) = rest.split_at_checked(rest.len() - core.len() + operand_length(core)?)?;
    Some((blank, operator, operand, after))
}

/// The length of the operand at the start of `text`: up to three numbers or placeholders, then a pre-release, then build metadata.
fn operand_length(text: &str) -> Option<usize> {
    let number = |text: &str| match text.bytes().next()? {
        b'x' | b'X' | b'*' => Some(1),
        byte if byte.is_ascii_digit() => Some(text.bytes().take_while(u8::is_ascii_digit).count()),
        _ => None,
    };
    let word = |text: &str| {
        Some(text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-').count()).filter(|length| *length > 0)
    };
    // A word that starts with digits ends after them: the search takes the shorter match.
    let identifier = |text: &str| number(text).filter(|_| text.starts_with(|first: char| first.is_ascii_digit())).or_else(|| word(text));

    let mut length = number(text)?;
    for _ in 0..2 {
        let Some(more) = text.get(length..)?.strip_prefix('.').and_then(number) else { return Some(length) };
        length += 1 + more;
    }
    let tail = text.get(length..)?;
    // A lone hyphen is itself a word; before a word it starts the pre-release.
    let dash = usize::from(tail.strip_prefix('-').and_then(identifier).is_some());
    if let Some(first) = tail.get(dash..).and_then(identifier) {
        length += dash + first + dotted(tail.get(dash + first..)?, identifier);
    }
    if let Some(build) = text.get(length..)?.strip_prefix('+')
        && let Some(first) = word(build)
    {
        length += 1 + first + dotted(build.get(first..)?, word);
    }
    Some(length)
}

/// The length of the leading identifiers of `text`, each preceded by a dot.
fn dotted(text: &str, identifier: impl Fn(&str) -> Option<usize>) -> usize {
    let mut length = 0;
    while let Some(more) = text.get(length..).and_then(|rest| rest.strip_prefix('.')).and_then(&identifier) {
        length += 1 + more;
    }
    length
}
