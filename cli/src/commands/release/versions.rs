//! The app versions that devices report, compared with the versions that a release targets.

use std::collections::BTreeMap;

use shared::api::metrics::Counts;
use shared::keys::Label;
use shared::version::{AppVersion, Range};

/// How many versions a warning names.
const SHOWN: usize = 5;

/// The app versions among the keys of a deployment's metrics, with their active devices; most devices first.
pub(super) fn seen(metrics: &BTreeMap<String, Counts>) -> Vec<(&str, i64)> {
    let is_version = |key: &&String| Label::try_from(key.as_str()).is_err();
    let mut seen: Vec<_> = metrics.iter().filter(|(key, _)| is_version(key)).map(|(key, counts)| (key.as_str(), counts.active)).collect();
    seen.sort_by_key(|(_, active)| std::cmp::Reverse(*active));
    seen
}

/// A warning if devices report versions, but none that the range matches.
pub(super) fn warning(range: &str, seen: &[(&str, i64)]) -> Option<String> {
    let parsed = Range::parse(range).ok()?;
    let matches = |text: &str| AppVersion::parse(text).is_ok_and(|version| parsed.satisfies(version.version()));
    if seen.is_empty() || seen.iter().any(|(version, _)| matches(version)) {
        return None;
    }
    let mut names: Vec<String> = seen.iter().take(SHOWN).map(|(version, active)| format!("{version} ({active} active)")).collect();
    if seen.len() > SHOWN {
        names.push(format!("{} more", seen.len() - SHOWN));
    }
    Some(format!(
        "no device reports an app version that matches {range}, so nobody gets this release yet. Versions seen: {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_matches_no_version_is_warned_about() {
        let seen = [("1.0.0", 12), ("1.1", 3)];
        assert_eq!(warning("^1.0.0", &seen), None);
        assert_eq!(warning("1.1.0", &seen), None);
        assert!(warning("2.x", &seen).is_some_and(|text| text.contains("1.0.0 (12 active), 1.1 (3 active)")));
        assert_eq!(warning("2.x", &[]), None);
    }

    #[test]
    fn labels_are_not_versions() {
        let none = Counts { active: 1, downloaded: 0, installed: 0, failed: 0 };
        let metrics = BTreeMap::from([("v1".to_owned(), none.clone()), ("1.0.0".to_owned(), none)]);
        assert_eq!(seen(&metrics), [("1.0.0", 1)]);
    }
}
