//! Prints releases.

use shared::api::metrics::Counts;
use shared::api::releases::{Release, ReleaseMethod};

use crate::output::table::Details;
use crate::output::times;

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
