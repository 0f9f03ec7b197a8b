//! Version ranges as node's `semver` parses them (not `loose`, without `includePrerelease`).

use super::comparator::{Comparator, Operator};
use super::grammar::{Partial, collapse_spaces, is_space, join_operators};
use super::{MAX_NUMBER, parse_strict};
use crate::Invalid;
use semver::{Prerelease, Version};

/// The longest range, in characters.
const MAX_LENGTH: usize = 255;

/// A version range: alternatives, each a list of conditions that must all hold.
#[derive(Debug, Clone)]
pub struct Range {
    text: String,
    canonical: String,
    sets: Vec<Vec<Comparator>>,
}

impl Range {
    /// Parses a range such as `1.2.3`, `^1.2`, `1.x || >=2.5.0 <3`, `1.2 - 1.4`, `*` or the empty string (any version).
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.chars().take(MAX_LENGTH + 1).count() > MAX_LENGTH {
            return Err(Invalid::from("must be at most 255 characters"));
        }
        let sets = collapse_spaces(text).split("||").map(|set| parse_set(set.trim_matches(is_space))).collect::<Result<Vec<_>, _>>()?;
        let sets = without_useless_sets(sets);
        Ok(Self { text: text.to_owned(), canonical: canonical(&sets), sets })
    }

    /// Whether the version is in the range. A pre-release is in it only if a condition with the same three numbers also has a pre-release.
    pub fn satisfies(&self, version: &Version) -> bool {
        self.sets.iter().any(|set| set.iter().all(|comparator| comparator.test(version)) && allows_prerelease(set, version))
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The output of node's `validRange`: equal for ranges that are written differently but mean the same.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The version, if the text is exactly one version.
    pub fn as_exact(&self) -> Option<&Version> {
        // Strict parsing decides; the single compiled condition holds the version.
        parse_strict(&self.text)?;
        match self.sets.as_slice() {
            [set] => set.first().map(|comparator| &comparator.version),
            _ => None,
        }
    }

    /// The alternatives. One without conditions matches every version (except pre-releases).
    pub(super) fn sets(&self) -> &[Vec<Comparator>] {
        &self.sets
    }

    /// The approximate bytes in memory.
    pub(crate) fn weight(&self) -> usize {
        let comparators: usize = self.sets.iter().map(|set| size_of_val(set) + set.capacity() * (size_of::<Comparator>() + 32)).sum();
        self.text.capacity() + self.canonical.capacity() + comparators
    }
}

fn allows_prerelease(set: &[Comparator], version: &Version) -> bool {
    let parts = |version: &Version| (version.major, version.minor, version.patch);
    version.pre.is_empty()
        || set.iter().any(|comparator| !comparator.version.pre.is_empty() && parts(&comparator.version) == parts(version))
}

/// Drops alternatives that nothing can satisfy (keeps one if there is no other). If one matches everything, drops all others.
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

/// Parses one alternative: the text between two `||`.
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

/// Rewrites `1.2 - 1.4` with operators; `None` if the text is not a hyphen range.
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

/// The conditions of one word; empty if it matches everything.
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
    // Node treats exactly this text as "any version"; `>=v0.0.0` means the same but stays a condition.
    if word.is_empty() || word == ">=0.0.0" {
        return Ok(Vec::new());
    }
    let (operator, rest) = Operator::split(word);
    let version = parse_strict(rest).ok_or_else(invalid)?;
    Ok(vec![Comparator { operator, version }])
}

/// If a word does not parse, node deletes its first star with the operator before it, and parses the rest.
fn without_star(word: &str) -> String {
    let Some((before, after)) = word.split_once('*') else { return word.to_owned() };
    let before = before.strip_suffix('=').unwrap_or(before);
    let before = before.strip_suffix(['<', '>']).unwrap_or(before);
    format!("{before}{after}")
}

/// `^1.2.3`: the leftmost nonzero number must not change.
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

/// `~1.2.3`: the minor number must not change, or the major one if no minor is given.
fn tilde(partial: &Partial) -> Result<Vec<Comparator>, Invalid> {
    let upper = match (partial.major, partial.minor) {
        (None, _) => return Ok(Vec::new()),
        (Some(major), None) => below(major.saturating_add(1), 0, 0),
        (Some(major), Some(minor)) => below(major, minor.saturating_add(1), 0),
    };
    both(from(partial), upper)
}

/// An operator before a partial version: `>1.2` starts after the last 1.2.x, `<=1.2` includes the last 1.2.x.
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

/// At least this version, with missing parts as zero; `None` if that matches any version.
fn from(partial: &Partial) -> Result<Option<Comparator>, Invalid> {
    let (major, minor, patch) = (partial.major.unwrap_or(0), partial.minor.unwrap_or(0), partial.patch.unwrap_or(0));
    let mut lower = bounded(Operator::GreaterOrEqual, major, minor, patch)?;
    if partial.is_full() {
        lower.version.pre = Prerelease::new(partial.pre).map_err(|_| invalid())?;
    }
    let is_any = (major, minor, patch) == (0, 0, 0) && lower.version.pre.is_empty();
    Ok((!is_any).then_some(lower))
}

/// Below a version's first pre-release: `<2.0.0-0`.
fn below(major: u64, minor: u64, patch: u64) -> Result<Comparator, Invalid> {
    let mut upper = bounded(Operator::Less, major, minor, patch)?;
    upper.version.pre = Prerelease::new("0").map_err(|_| invalid())?;
    Ok(upper)
}

/// A condition; fails if a number is too large for a version.
fn bounded(operator: Operator, major: u64, minor: u64, patch: u64) -> Result<Comparator, Invalid> {
    let in_bounds = [major, minor, patch].into_iter().all(|number| number <= MAX_NUMBER);
    if in_bounds { Ok(Comparator::new(operator, major, minor, patch)) } else { Err(invalid()) }
}

fn invalid() -> Invalid {
    Invalid::from("must be a semantic version or a range, such as 1.2.3 or ^1.2")
}
