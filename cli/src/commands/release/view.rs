//! Prints releases.

use std::collections::BTreeMap;

use shared::api::diffs::{DiffStatus, ReleaseDiffs, SourceDiff};
use shared::api::metrics::Counts;
use shared::api::releases::{Release, ReleaseMethod};

use super::super::figures;
use crate::clock;
use crate::output::table::Details;
use crate::output::times;

/// The labels that a diff shows.
const MAX_LABELS: usize = 5;
/// How much of a package hash a diff shows, in digits.
const SHORT: usize = 12;

/// How far a release is rolled out.
pub(super) fn rollout(is_disabled: bool, rollout: Option<i64>) -> String {
    match rollout {
        _ if is_disabled => "disabled".to_owned(),
        Some(percent) => format!("{percent}%"),
        None => "100%".to_owned(),
    }
}

/// How a release was created.
pub(super) fn method(method: ReleaseMethod) -> &'static str {
    match method {
        ReleaseMethod::Upload => "Upload",
        ReleaseMethod::Promote => "Promote",
        ReleaseMethod::Rollback => "Rollback",
    }
}

/// A size from the API.
pub(super) fn size(bytes: i64) -> String {
    times::size(u64::try_from(bytes).unwrap_or_default())
}

/// Prints a release's details.
pub(super) fn print(release: &Release) {
    details(release, None).print();
}

/// A release's details, with what devices with earlier releases download for it.
pub(super) fn details_with_diffs(release: &Release, counts: Option<&Counts>, diffs: &ReleaseDiffs) -> Details {
    // Each diff has a line of its own, so the line that counts them is not needed.
    let mut details = details(&Release { diff_package_map: BTreeMap::new(), ..release.clone() }, counts);
    details.add_some("Diffs", diffs.message.as_deref());
    let mut advices: Vec<&str> = Vec::new();
    for source in &diffs.sources {
        details.add("Diff", diff(diffs, source));
        advices.extend(source.advice.as_deref().filter(|advice| !advices.contains(advice)));
    }
    for advice in advices {
        details.add("What to do", advice);
    }
    details
}

/// What devices with this package download.
fn diff(diffs: &ReleaseDiffs, source: &SourceDiff) -> String {
    let labels: Vec<String> = source.labels.iter().take(MAX_LABELS).map(|label| String::from(*label)).collect();
    let from = match source.labels.len() {
        0 => format!("package {}…", source.source_hash.to_string().get(..SHORT).unwrap_or_default()),
        count if count > MAX_LABELS => format!("{} and {} more", labels.join(", "), count - MAX_LABELS),
        _ => labels.join(", "),
    };
    match (source.status, source.size, &source.message) {
        (DiffStatus::Ready, Some(bytes), _) => {
            let share = figures::share(bytes, diffs.full_size);
            format!("from {from}: {} instead of {} ({share})", size(bytes), size(diffs.full_size))
        }
        (DiffStatus::None, _, Some(message)) => format!("from {from}: none, because {message}{}", found(source)),
        (DiffStatus::None, ..) => format!("from {from}: none"),
        _ if !diffs.is_making => format!("from {from}: not made, because the server makes no diffs"),
        _ => format!("from {from}: not made yet"),
    }
}

/// When what has to be repaired was found, and when it is looked at again.
fn found(source: &SourceDiff) -> String {
    let Some(found) = source.found_time.filter(|_| source.is_fault) else { return String::new() };
    let again = match source.retry_time {
        Some(again) if again > clock::now() => format!("; it is looked at again {}", times::time(again)),
        Some(_) => "; it is looked at again soon".to_owned(),
        None => String::new(),
    };
    format!(" (found {}{again})", times::time(found))
}

/// A release's details, with its metrics if they are known.
pub(super) fn details(release: &Release, counts: Option<&Counts>) -> Details {
    let mut details = Details::new();
    details.add("Label", String::from(release.label)).add("Target version", &*release.app_version);
    details.add("Rollout", rollout(release.is_disabled, release.rollout));
    details.add("Mandatory", if release.is_mandatory { "yes" } else { "no" });
    let origin = match (&release.original_deployment, release.original_label) {
        (Some(deployment), Some(label)) => format!("{} of {} in {deployment}", method(release.release_method), String::from(label)),
        (None, Some(label)) => format!("{} to {}", method(release.release_method), String::from(label)),
        _ => method(release.release_method).to_owned(),
    };
    details.add("Method", origin).add("Released by", &*release.released_by).add("Released", times::time(release.upload_time));
    details.add("Size", size(release.size)).add("Package hash", release.package_hash.to_string());
    if !release.diff_package_map.is_empty() {
        let largest = release.diff_package_map.values().map(|diff| diff.size).max().unwrap_or_default();
        details.add("Diffs", format!("{}, up to {}", release.diff_package_map.len(), size(largest)));
    }
    details.add_some("Description", release.description.as_deref());
    if let Some(counts) = counts {
        details.add("Active", counts.active.to_string()).add("Downloaded", counts.downloaded.to_string());
        details.add("Installed", counts.installed.to_string()).add("Failed", counts.failed.to_string());
    }
    details
}
