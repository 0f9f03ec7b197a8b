//! The order of versions as node has it: build metadata plays no part.

use semver::Version;
use std::cmp::Ordering;

/// Compares two versions without their build metadata.
pub(super) fn compare(left: &Version, right: &Version) -> Ordering {
    (left.major, left.minor, left.patch)
        .cmp(&(right.major, right.minor, right.patch))
        .then_with(|| compare_prerelease(left.pre.as_str(), right.pre.as_str()))
}

/// A version without pre-release comes after every one with it; else the first identifier that differs decides, and then the length.
fn compare_prerelease(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (Some(_), None) => return Ordering::Greater,
            (None, Some(_)) => return Ordering::Less,
            (Some(left), Some(right)) if left == right => {}
            (Some(left), Some(right)) => return compare_identifiers(left, right),
        }
    }
}

/// Numbers come before words. Numbers compare as JavaScript's doubles do, even where those are no longer exact.
fn compare_identifiers(left: &str, right: &str) -> Ordering {
    match (as_number(left), as_number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

fn as_number(identifier: &str) -> Option<f64> {
    identifier.bytes().all(|byte| byte.is_ascii_digit()).then(|| identifier.parse().ok()).flatten()
}
