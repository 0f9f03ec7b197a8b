//! What the API and the CodePush dialect show alike: releases with signed URLs, metrics, and deployment keys.

use std::collections::BTreeMap;

use shared::api::imported::ImportedMetricsAnswer;
use shared::api::metrics::{BytesSaved, Counts, MetricsAnswer};
use shared::api::releases::{Diff, Release, ReleaseMethod};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::signature::download_url;
use shared::wire::check::DownloadUrls;

use crate::domain::counting::counters::repo::CounterRow;
use crate::domain::diffs::Problem;
use crate::domain::error::Result;
use crate::domain::imports::StartingLevel;
use crate::domain::releases as domain;
use crate::domain::releases::service::{self, label};

/// A release in its wire form, with signed URLs.
pub fn release(app: &AppId, release: service::Release, urls: &DownloadUrls<'_>) -> Result<Release> {
    let service::Release { row, diffs } = release;
    let url = |sha256: &Sha256Hex| download_url(urls, &BlobKey { app: app.clone(), sha256: sha256.clone() });
    Ok(Release {
        app_version: row.app_version,
        blob_url: url(&row.blob_sha256),
        description: row.description,
        diff_package_map: diffs
            .iter()
            .map(|diff| (diff.source_hash.to_string(), Diff { url: url(&diff.blob_sha256), size: diff.size }))
            .collect(),
        is_disabled: row.is_disabled,
        is_mandatory: row.is_mandatory,
        label: label(row.label)?,
        manifest_blob_url: row.manifest_sha256.as_ref().map(url),
        original_deployment: row.original_deployment,
        original_label: row.original_label.map(label).transpose()?,
        package_hash: row.package_hash,
        released_by: row.released_by,
        release_method: release_method(row.release_method),
        rollout: row.rollout,
        size: row.size,
        upload_time: row.upload_time,
    })
}

/// A release method in its wire form.
pub fn release_method(method: domain::ReleaseMethod) -> ReleaseMethod {
    match method {
        domain::ReleaseMethod::Upload => ReleaseMethod::Upload,
        domain::ReleaseMethod::Promote => ReleaseMethod::Promote,
        domain::ReleaseMethod::Rollback => ReleaseMethod::Rollback,
    }
}

/// A deployment's counts by label and binary version, with what diffs have saved.
pub fn metrics(counters: Vec<CounterRow>) -> MetricsAnswer {
    let total = counters.iter().fold(0_i64, |sum, row| sum.saturating_add(row.bytes_saved));
    let labels = counters.iter().filter(|row| row.bytes_saved > 0).map(|row| (row.place.clone(), row.bytes_saved)).collect();
    MetricsAnswer { metrics: counts(counters), estimated_bytes_saved: BytesSaved { total, labels } }
}

/// A deployment's counts by label and binary version.
pub fn counts(counters: Vec<CounterRow>) -> BTreeMap<String, Counts> {
    let counts = counters.into_iter().map(|row| {
        let counts = Counts { active: row.active, downloaded: row.downloaded, installed: row.installed, failed: row.failed };
        (row.place, counts)
    });
    counts.collect()
}

/// The counts of the server that a deployment was imported from.
pub fn imported_metrics(level: Option<StartingLevel>) -> ImportedMetricsAnswer {
    let Some(StartingLevel { source, time, newest_label, counts }) = level else {
        return ImportedMetricsAnswer { imported_from: None, imported_time: None, newest_imported_label: None, metrics: BTreeMap::new() };
    };
    let of = |counts: import::source::Counts| Counts {
        active: counts.active,
        downloaded: counts.downloaded,
        installed: counts.installed,
        failed: counts.failed,
    };
    let metrics = counts.into_iter().map(|(place, counts)| (place, of(counts))).collect();
    ImportedMetricsAnswer { imported_from: Some(source), imported_time: Some(time), newest_imported_label: newest_label, metrics }
}

/// A deployment key, or what stands for one that the caller may not see.
pub fn deployment_key(key: Option<String>) -> String {
    key.unwrap_or_else(|| "(hidden)".to_owned())
}

/// What to do about a diff that cannot be made; `None` if nothing has to be done.
pub fn diff_advice(problem: Problem) -> Option<&'static str> {
    match problem {
        Problem::TargetDamaged => Some(
            "Devices may not be able to download this release at all. Ask your administrator to run `updraft-control storage verify` and to repair the \
            bundle, or publish the files again with a change.",
        ),
        Problem::BaseDamaged => Some(
            "Devices with the earlier release download the whole bundle. Ask your administrator to run `updraft-control storage verify` and to repair the \
            earlier release's bundle.",
        ),
        Problem::NotApplicable => {
            Some("Devices with the earlier release download the whole bundle. This is a fault in Updraft. Report it to your administrator.")
        }
        Problem::Unfinished => Some(
            "Devices with the earlier release download the whole bundle. The diff is tried again after a week. Ask your administrator whether the server has \
            enough memory, and to report this with the server's log.",
        ),
        _ => None,
    }
}
