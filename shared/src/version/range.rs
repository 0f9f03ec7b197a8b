//! Ranges of versions as node's `semver` reads them (not in its loose mode, without `includePrerelease`).

use super::comparator::{Comparator, Operator};
use super::grammar::{Partial, collapse_spaces, is_space, join_operators};
use super::{MAX_NUMBER, parse_strict};
use crate::Invalid;
use semver::{Prerelease, Version};

/// The longest text of a range, in characters.
const MAX_LENGTH: usize = 255;

/// A range of versions: alternatives, each a list of conditions that must all hold.
#[derive(Debug, Clone)]
pub struct Range {
    text: String,
    canonical: String,
    sets: Vec<Vec<Comparator>>,
}

impl Range {
    /// Reads a range such as `1.2.3`, `^1.2`, `1.x || >=2.5.0 <3`, `1.2 - 1.4`, `*` or the empty text (any version). At most 255
    /// characters.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.chars().take(MAX_LENGTH + 1).count() > MAX_LENGTH {
            return Err(Invalid::from("must be at most 255 characters"));
        }
        let sets = collapse_spaces(text).split("||").map(|set| parse_set(set.trim_matches(is_space))).collect::<Result<Vec<_>, _>>()?;
        let sets = without_useless_sets(sets);
        Ok(Self { text: text.to_owned(), canonical: canonical(&sets), sets })
    }

    /// Whether the version lies in the range. A pre-release lies in it only where a condition with the same three numbers names a
    /// pre-release itself.
    pub fn satisfies(&self, version: &Version) -> bool {
        self.sets.iter().any(|set| set.iter().all(|comparator| comparator.test(version)) && admits_prerelease(set, version))
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text that node's `validRange` makes of it: equal for ranges that are written differently but read the same.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The version, when the text is exactly one.
    pub fn as_exact(&self) -> Option<&Version> {
        // The strict reading decides; the one condition that it was compiled to holds the version.
        parse_strict(&self.text)?;
        match self.sets.as_slice() {
            [set] => set.first().map(|comparator| &comparator.version),
            _ => None,
        }
    }

    /// The alternatives. One without conditions admits every version (pre-releases aside).
    pub(super) fn sets(&self) -> &[Vec<Comparator>] {
        &self.sets
    }

    /// The bytes it holds in memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        let comparators: usize = self.sets.iter().map(|set| size_of_val(set) + set.capacity() * (size_of::<Comparator>() + 32)).sum();
        self.text.capacity() + self.canonical.capacity() + comparators
    }
}

fn admits_prerelease(set: &[Comparator], version: &Version) -> bool {
    let parts = |version: &Version| (version.major, version.minor, version.patch);
    version.pre.is_empty()
        || set.iter().any(|comparator| !comparator.version.pre.is_empty() && parts(&comparator.version) == parts(version))
}

/// Drops alternatives that nothing can satisfy (one is kept when there is no other), and all but the first that admits everything.
fn without_useless_sets(mut sets: Vec<Vec<Comparator>>) -> Vec<Vec<Comparator>> {
    let is_possible = |set: &Vec<Comparator>| !set.first().is_some_and(Comparator::is_impossible);
    if sets.iter().any(is_possible) {
        sets.retain(is_possible);
    } else {
        sets.truncate(1);
    }
    if sets.iter().any(Vec::is_empty) { vec![Vec::new()] } else { sets }
}

fn canonical(sets: &[Vec<Comparator>]) -> String {
    let set = |set: &Vec<Comparator>| set.iter().map(Comparator::to_string).collect::<Vec<_>>().join(" ");
    let text = sets.iter().map(set).collect::<Vec<_>>().join("||");
    if text.is_empty() { "*".to_owned() } else { text }
}

/// One alternative: what stands between two `||`.
fn parse_set(text: &str) -> Result<Vec<Comparator>, Invalid> {
    let text = hyphen(text).unwrap_or_else(|| text.to_owned());
    let mut set = Vec::<Comparator>::new();
    for word in join_operators(&text).split(' ') {
        for comparator in parse_word(word)? {
            if !set.iter().any(|known| known.same(&comparator)) {
                set.push(comparator);
            }
        }
    }
    if let Some(impossible) = set.iter().position(Comparator::is_impossible) {
        set = vec![set.swap_remove(impossible)];
    }
    Ok(set)
}

/// `1.2 - 1.4` in terms of operators; none when the text is no hyphen range.
fn hyphen(text: &str) -> Option<String> {
    let (from_text, to_text) = text.split_once(" - ")?;
    let (from, to) = (Partial::parse(from_text)?, Partial::parse(to_text)?);
    let from = match (from.major, from.minor, from.patch) {
        (None, ..) => String::new(),
        (Some(major), None, _) => format!(">={major}.0.0"),
        (Some(major), Some(minor), None) => format!(">={major}.{minor}.0"),
        (Some(_), Some(_), Some(_)) => format!(">={from_text}"),
    };
    let to = match (to.major, to.minor, to.patch) {
        (None, ..) => String::new(),
        (Some(major), None, _) => format!("<{}.0.0-0", major.saturating_add(1)),
        (Some(major), Some(minor), None) => format!("<{major}.{}.0-0", minor.saturating_add(1)),
        (Some(major), Some(minor), Some(patch)) if !to.pre.is_empty() => format!("<={major}.{minor}.{patch}-{}", to.pre),
        (Some(_), Some(_), Some(_)) => format!("<={to_text}"),
    };
    Some(format!("{from} {to}").trim_matches(' ').to_owned())
}

/// The conditions that one word stands for; none for a word that admits everything.
fn parse_word(word: &str) -> Result<Vec<Comparator>, Invalid> {
    if let Some(partial) = word.strip_prefix('^').and_then(Partial::parse) {
        return caret(&partial);
    }
    if let Some(partial) = word.strip_prefix('~').map(|rest| rest.strip_prefix('>').unwrap_or(rest)).and_then(Partial::parse) {
        return tilde(&partial);
    }
    let (operator, rest) = Operator::split(word);
    match Partial::parse(rest) {
        Some(partial) if !partial.is_full() => open(operator, &partial),
        Some(_) => plain(word),
        None => plain(&without_star(word)),
    }
}

/// An operator and a complete version.
fn plain(word: &str) -> Result<Vec<Comparator>, Invalid> {
    // Node takes exactly this text for "any version"; `>=v0.0.0` means the same but is kept as a condition.
    if word.is_empty() || word == ">=0.0.0" {
        return Ok(Vec::new());
    }
    let (operator, rest) = Operator::split(word);
    let version = parse_strict(rest).ok_or_else(invalid)?;
    Ok(vec![Comparator { operator, version }])
}

/// Node deletes the first star of a word that it could not read otherwise, with the operator before it, and reads what remains.
fn without_star(word: &str) -> String {
    let Some((before, after)) = word.split_once('*') else { return word.to_owned() };
    let before = before.strip_suffix('=').unwrap_or(before);
    let before = before.strip_suffix(['<', '>']).unwrap_or(before);
    format!("{before}{after}")
}

/// `^1.2.3`: no change of the leftmost number that is not zero.
fn caret(partial: &Partial) -> Result<Vec<Comparator>, Invalid> {
    let (major, minor, patch) = (partial.major, partial.minor, partial.patch);
    let upper = match (major, minor, patch) {
        (None, ..) => return Ok(Vec::new()),
        (Some(0), Some(0), Some(patch)) => below(0, 0, patch.saturating_add(1)),
        (Some(0), Some(minor), _) => below(0, minor.saturating_add(1), 0),
        (Some(major), ..) => below(major.saturating_add(1), 0, 0),
    };
    both(from(partial), upper)
}

/// `~1.2.3`: no change of the minor number, or of the major one where no minor is given.
fn tilde(partial: &Partial) -> Result<Vec<Comparator>, Invalid> {
    let upper = match (partial.major, partial.minor) {
        (None, _) => return Ok(Vec::new()),
        (Some(major), None) => below(major.saturating_add(1), 0, 0),
        (Some(major), Some(minor)) => below(major, minor.saturating_add(1), 0),
    };
    both(from(partial), upper)
}

/// An operator before a version with missing parts: `>1.2` starts after all of 1.2, `<=1.2` ends with the last of it.
fn open(operator: Operator, partial: &Partial) -> Result<Vec<Comparator>, Invalid> {
    let Some(major) = partial.major else {
        // Nothing is above or below everything.
        let is_possible = !matches!(operator, Operator::Less | Operator::Greater);
        return if is_possible { Ok(Vec::new()) } else { below(0, 0, 0).map(|nothing| vec![nothing]) };
    };
    let (next_major, next_minor) = match partial.minor {
        None => (major.saturating_add(1), 0),
        Some(minor) => (major, minor.saturating_add(1)),
    };
    match operator {
        Operator::Equal => both(from(partial), below(next_major, next_minor, 0)),
        Operator::Less => below(major, partial.minor.unwrap_or(0), 0).map(|upper| vec![upper]),
        Operator::LessOrEqual => below(next_major, next_minor, 0).map(|upper| vec![upper]),
        Operator::Greater => bounded(Operator::GreaterOrEqual, next_major, next_minor, 0).map(|lower| vec![lower]),
        Operator::GreaterOrEqual => from(partial).map(|lower| lower.into_iter().collect()),
    }
}

fn both(lower: Result<Option<Comparator>, Invalid>, upper: Result<Comparator, Invalid>) -> Result<Vec<Comparator>, Invalid> {
    let (lower, upper) = (lower?, upper?);
    Ok(lower.into_iter().chain([upper]).collect())
}

/// The version itself or later, missing parts being zero; none where that is any version at all.
fn from(partial: &Partial) -> Result<Option<Comparator>, Invalid> {
    let (major, minor, patch) = (partial.major.unwrap_or(0), partial.minor.unwrap_or(0), partial.patch.unwrap_or(0));
    let mut lower = bounded(Operator::GreaterOrEqual, major, minor, patch)?;
    if partial.is_full() {
        lower.version.pre = Prerelease::new(partial.pre).map_err(|_| invalid())?;
    }
    let is_any = (major, minor, patch) == (0, 0, 0) && lower.version.pre.is_empty();
    Ok((!is_any).then_some(lower))
}

/// Below the first pre-release of a version: `<2.0.0-0`.
fn below(major: u64, minor: u64, patch: u64) -> Result<Comparator, Invalid> {
    let mut upper = bounded(Operator::Less, major, minor, patch)?;
    upper.version.pre = Prerelease::new("0").map_err(|_| invalid())?;
    Ok(upper)
}

/// A condition on a version whose numbers are not too great to be one.
fn bounded(operator: Operator, major: u64, minor: u64, patch: u64) -> Result<Comparator, Invalid> {
    let in_bounds = [major, minor, patch].into_iter().all(|number| number <= MAX_NUMBER);
    if in_bounds { Ok(Comparator::new(operator, major, minor, patch)) } else { Err(invalid()) }
}

fn invalid() -> Invalid {
    Invalid::from("must be a semantic version or a range of them, for example 1.2.3 or ^1.2")
}
