//! Whether a version is above a whole range.

use super::Range;
use super::comparator::{Comparator, Operator};
use super::order::compare;
use semver::Version;
use std::cmp::Ordering;

/// Whether the version is greater than everything in the range, as node's `semver.gtr` decides.
///
/// Node checks only the highest and the lowest condition of each alternative. So an odd range (one that nothing satisfies, or one open above that
/// also lists an exact version) gives an odd answer. Clients depend on these answers, so they are kept.
pub fn gtr(version: &Version, range: &Range) -> bool {
    !range.satisfies(version) && range.sets().iter().all(|set| is_above(version, set))
}

fn is_above(version: &Version, set: &[Comparator]) -> bool {
    // An alternative without conditions counts as `>=0.0.0`, and nothing is above that.
    let Some(first) = set.first() else { return false };
    let (mut high, mut low) = (first, first);
    for comparator in set {
        if compare(&comparator.version, &high.version) == Ordering::Greater {
            high = comparator;
        } else if compare(&comparator.version, &low.version) == Ordering::Less {
            low = comparator;
        }
    }
    let is_open_above = matches!(high.operator, Operator::Greater | Operator::GreaterOrEqual);
    let lies_below = match low.operator {
        Operator::Equal | Operator::Greater => compare(version, &low.version) != Ordering::Greater,
        Operator::GreaterOrEqual => compare(version, &low.version) == Ordering::Less,
        Operator::Less | Operator::LessOrEqual => false,
    };
    !is_open_above && !lies_below
}
