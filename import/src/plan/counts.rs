//! Which counts of a deployment are carried over.

use std::collections::BTreeMap;

use shared::keys::Label;

use super::Limits;
use crate::source::Counts;

/// The most binary versions with counts.
const MOST_VERSIONS: usize = 1_000;
/// The longest binary version with counts, in characters.
const LONGEST_VERSION: usize = 64;
/// The largest count, either way: more than there are devices.
const LARGEST_COUNT: i64 = 1_000_000_000_000;

/// The counts that are kept, and how many are not. Kept are those of the newest labels, as many as a deployment can have, and of versions; none is
/// larger than what can be summed.
pub fn kept_counts(counts: BTreeMap<String, Counts>, limits: Limits) -> (BTreeMap<String, Counts>, usize) {
    let total = counts.len();
    let (mut labels, mut versions) = (Vec::new(), Vec::new());
    for (place, counts) in counts {
        match Label::try_from(place.as_str()) {
            Ok(label) => labels.push((label.number(), place, counts)),
            Err(_) if is_version(&place) => versions.push((place, counts)),
            Err(_) => {}
        }
    }
    labels.sort_unstable_by_key(|(number, ..)| std::cmp::Reverse(*number));
    let labels = labels.into_iter().take(limits.releases).map(|(_, place, counts)| (place, counts));
    let kept: BTreeMap<_, _> =
        labels.chain(versions.into_iter().take(MOST_VERSIONS)).map(|(place, counts)| (place, bounded(counts))).collect();
    let dropped = total - kept.len();
    (kept, dropped)
}

/// Whether a text can be a binary version.
fn is_version(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= LONGEST_VERSION && !text.chars().any(char::is_control)
}

fn bounded(counts: Counts) -> Counts {
    let Counts { active, downloaded, installed, failed } = counts;
    let [active, downloaded, installed, failed] =
        [active, downloaded, installed, failed].map(|count: i64| count.clamp(-LARGEST_COUNT, LARGEST_COUNT));
    Counts { active, downloaded, installed, failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { releases: 3, ranges: 500, snapshot_bytes: 1 << 20 };

    #[test]
    fn the_newest_labels_and_some_versions_are_kept() {
        let names = (0..2_000).map(|number| format!("1.0.{number}")).chain(["x".repeat(65), String::new()]);
        let counts = names.chain((1..=10).map(|number| format!("v{number}"))).map(|place| (place, Counts::default())).collect();
        let (kept, dropped) = kept_counts(counts, LIMITS);
        assert_eq!((kept.len(), dropped), (MOST_VERSIONS + 3, 1_000 + 2 + 7));
        assert_eq!(kept.keys().rev().take(3).collect::<Vec<_>>(), ["v9", "v8", "v10"]);
    }

    #[test]
    fn thousands_of_counts_can_be_summed() {
        let largest = Counts { active: i64::MAX, downloaded: i64::MIN, installed: 3, failed: -3 };
        let (kept, _) = kept_counts([("v1".to_owned(), largest)].into(), LIMITS);
        assert_eq!(kept["v1"], Counts { active: LARGEST_COUNT, downloaded: -LARGEST_COUNT, installed: 3, failed: -3 });
        assert!(LARGEST_COUNT.checked_mul(20_000).is_some());
    }
}
