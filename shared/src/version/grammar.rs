//! The words of a range: white space, the blanks that may be left out, and versions of which parts may be missing.

use semver::{BuildMetadata, Prerelease};

/// JavaScript's white space, which is not quite Unicode's.
pub(super) fn is_space(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Trims, and makes every run of white space one blank.
pub(super) fn collapse_spaces(text: &str) -> String {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A version of which parts may be missing or be placeholders, such as `1.x` or `1.2.3-beta`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial<'t> {
    /// The numbers up to the first part that is missing or a placeholder, and nothing after it. Numbers beyond 64 bits are held at the
    /// greatest of them, far above what a version may have.
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    pub(super) patch: Option<u64>,
    /// The pre-release text; empty when there is none.
    pub(super) pre: &'t str,
}

impl<'t> Partial<'t> {
    /// Reads the whole of `text`. Any mixture of `v`, `=` and blanks may stand before it; where the numbers are complete, what stood
    /// there is judged again when the version is read strictly.
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

    /// Whether all three numbers are there.
    pub(super) fn is_full(&self) -> bool {
        self.patch.is_some()
    }
}

/// One number without leading zeros, or a placeholder (`None` inside), and the rest of the text.
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

/// Takes out the one blank that may stand between an operator and its operand: `>= 1.2` becomes `>=1.2`, `~ 1` becomes `~1`.
///
/// Node does this by a search for operator and operand over the whole text, and so does this: an `=` that the search has already taken
/// for the beginning of an operand (as in `v= 1`) keeps its blank, and makes the range invalid.
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

/// A blank, an operator (each may be empty) and an operand at the beginning of `text`, and what follows them.
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

/// How much of `text` the search takes for an operand: up to three numbers or placeholders, then a pre-release, then build metadata.
fn operand_length(text: &str) -> Option<usize> {
    let number = |text: &str| match text.bytes().next()? {
        b'x' | b'X' | b'*' => Some(1),
        byte if byte.is_ascii_digit() => Some(text.bytes().take_while(u8::is_ascii_digit).count()),
        _ => None,
    };
    let word = |text: &str| {
        Some(text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-').count()).filter(|length| *length > 0)
    };
    // A word that begins with digits ends with them: the search is content with the shorter reading.
    let identifier = |text: &str| number(text).filter(|_| text.starts_with(|first: char| first.is_ascii_digit())).or_else(|| word(text));

    let mut length = number(text)?;
    for _ in 0..2 {
        let Some(more) = text.get(length..)?.strip_prefix('.').and_then(number) else { return Some(length) };
        length += 1 + more;
    }
    let tail = text.get(length..)?;
    // A lone hyphen is a word of its own; before a word it introduces the pre-release.
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

/// The length of the identifiers, each after a dot, that `text` begins with.
fn dotted(text: &str, identifier: impl Fn(&str) -> Option<usize>) -> usize {
    let mut length = 0;
    while let Some(more) = text.get(length..).and_then(|rest| rest.strip_prefix('.')).and_then(&identifier) {
        length += 1 + more;
    }
    length
}
