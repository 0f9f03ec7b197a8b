//! A range as spans of versions, for questions about all versions at once.

use super::comparator::{Comparator, Operator};
use super::range::Range;
use semver::Version;

/// The three numbers of a version. Versions without a pre-release have their order.
pub type Numbers = (u64, u64, u64);

/// Versions without a pre-release: from `from` on, and below `to` if it has an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub from: Numbers,
    /// The first one above; `None` without an upper bound.
    pub to: Option<Numbers>,
}

impl Range {
    /// The versions without a pre-release that are in the range: spans in rising order that do not touch.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = self.sets().iter().filter_map(|set| span(set)).collect();
        spans.sort_unstable_by_key(|span| span.from);
        let mut joined: Vec<Span> = Vec::new();
        for span in spans {
            match joined.last_mut() {
                Some(last) if last.to.is_none_or(|to| span.from <= to) => last.to = later(last.to, span.to),
                _ => joined.push(span),
            }
        }
        joined
    }

    /// The pre-releases that the range names. Other pre-releases of the same three numbers may be in the range as well.
    pub fn prereleases(&self) -> impl Iterator<Item = &Version> {
        let named = self.sets().iter().flatten().filter(|comparator| !comparator.version.pre.is_empty());
        // `^1.2.0` means `<2.0.0-0`: there is nothing below.
        let useful = named.filter(|comparator| !(comparator.operator == Operator::Less && comparator.version.pre.as_str() == "0"));
        useful.map(|comparator| &comparator.version)
    }
}

/// The later end.
fn later(one: Option<Numbers>, other: Option<Numbers>) -> Option<Numbers> {
    Some(one?.max(other?))
}

/// The versions that meet all conditions; `None` if there are none.
fn span(set: &[Comparator]) -> Option<Span> {
    let mut span = Span { from: (0, 0, 0), to: None };
    for comparator in set {
        let Version { major, minor, patch, pre, .. } = &comparator.version;
        let (at, next) = ((*major, *minor, *patch), (*major, *minor, patch.saturating_add(1)));
        let is_release = pre.is_empty();
        // A pre-release is just below its three numbers.
        let (from, to) = match comparator.operator {
            Operator::Equal if is_release => (at, Some(next)),
            Operator::Equal => return None,
            Operator::GreaterOrEqual => (at, None),
            Operator::Greater => (if is_release { next } else { at }, None),
            Operator::Less => ((0, 0, 0), Some(at)),
            Operator::LessOrEqual => ((0, 0, 0), Some(if is_release { next } else { at })),
        };
        span.from = span.from.max(from);
        span.to = match (span.to, to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    span.to.is_none_or(|to| span.from < to).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_versions_of_their_range() {
        for text in [
            "*",
            "1.2.3",
            "^1.2.0",
            "~1.2",
            ">1.2.3 <=2.0.0",
            "1.x || >=2.1.0 <2.3.0 || 3.3.3",
            "<1.0.0 || >=1.0.0",
            ">=1.0.0-beta.2",
            "<1.0.0-beta.2",
            ">1.0.0-beta.2 <=2.0.0-rc.1",
            "1.0.0-beta.2",
            "<0.0.0",
            ">2 <1",
            "1.2 - 2.1",
        ] {
            let range = Range::parse(text).unwrap();
            let spans = range.spans();
            assert!(spans.windows(2).all(|two| two[0].to.is_some_and(|to| to < two[1].from)), "{text}: {spans:?}");
            for number in 0..64_u64 {
                let (major, minor, patch) = (number / 16, number / 4 % 4, number % 4);
                let at = (major, minor, patch);
                let is_in = spans.iter().any(|span| span.from <= at && span.to.is_none_or(|to| at < to));
                assert_eq!(is_in, range.satisfies(&Version::new(major, minor, patch)), "{text} and {at:?}: {spans:?}");
            }
        }
    }

    #[test]
    fn the_pre_releases_of_a_range_are_those_that_it_names() {
        let named = |text: &str| Range::parse(text).unwrap().prereleases().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(named("^1.0.0 || ~2.1"), Vec::<String>::new());
        assert_eq!(named("^1.0.0-beta.2 || 3.0.0-0"), ["1.0.0-beta.2", "3.0.0-0"]);
    }
}
