//! Writes a deployment's history: all of its releases in one transaction.
//!
//! As long as every release here came from the source, a later run adds what is new there, and takes over what was changed there. What somebody has
//! changed here since stays: a release that was disabled here must not come back. Once somebody has released here, it changes nothing, and neither if a
//! label stands for another package there than here: then the history there is another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use import::plan;
use import::report::Outcome;
use import::source::Counts;
use serde_json::json;
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId, ReleaseId};

use super::merge;
use super::repo::{self, ImportedDeploymentRow};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::deployments::{repo as deployments, snapshots};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::repo::{self as releases, NewReleaseRow, ReleaseRow};
use crate::domain::releases::service::{StoredPackage, need_diffs};
use crate::domain::releases::{ReleaseMethod, blob, contents, info, size};

/// Who released something, if the source does not say it.
const UNKNOWN: &str = "unknown";

/// A release with its stored package.
#[derive(Clone, Debug)]
pub(super) struct Imported {
    /// The release at the source.
    pub release: plan::Release,
    /// The hash of its package's bytes. A release that is here already needs none.
    pub blob: Option<Sha256Hex>,
    /// Its package here, with the hash that devices report. A release that is here already needs none.
    pub package: Option<StoredPackage>,
    /// Whether that hash counts directory entries, which devices do not.
    pub counts_directories: bool,
}

/// A history to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct History<'h> {
    /// The app.
    pub app: &'h AppId,
    /// The deployment.
    pub deployment: &'h DeploymentId,
    /// The address of the other server.
    pub source: &'h str,
    /// The releases, oldest first.
    pub releases: &'h [Imported],
    /// What was counted there; `None` if that server does not tell it. What it told earlier stays then.
    pub counts: Option<&'h BTreeMap<String, Counts>>,
    /// Whether to go beyond the owner's quotas.
    pub ignores_quotas: bool,
}

/// The end of an attempt to write.
#[derive(Clone, Debug)]
pub(super) enum Written {
    /// The history is written, or must not be.
    Done(Outcome),
    /// The package of a release is missing, or was deleted meanwhile: its hash, if it is known. Nothing is written: store it again.
    Gone(Option<Sha256Hex>),
}

/// Whether a deployment has releases that are not from the source, or was cleared.
pub(super) fn has_own(imported: &ImportedDeploymentRow, last_label: i64, is_empty: bool) -> bool {
    last_label > imported.last_label || (is_empty && last_label > 0)
}

impl History<'_> {
    /// Writes it. Errors: 404, 409 for its size.
    pub(super) async fn write(self, mut change: Change<'_>) -> Result<Written> {
        let Self { app, deployment, .. } = self;
        let now = change.now();
        let locked = deployments::lock(&mut change, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        let imported = repo::deployment(&mut change, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        let here: HashMap<i64, ReleaseRow> =
            releases::history(&mut change, deployment).await?.into_iter().map(|row| (row.label, row)).collect();
        if has_own(&imported, locked.last_label, here.is_empty()) {
            return Ok(Written::Done(Outcome::HasOwn));
        }
        let differs = |entry: &&Imported| here.get(&i64::from(entry.release.label.number())).is_some_and(|row| !has_package(row, entry));
        let labels: Vec<_> = self.releases.iter().filter(differs).map(|entry| entry.release.label).collect();
        if !labels.is_empty() {
            return Ok(Written::Done(Outcome::OtherPackages { labels }));
        }
        let told: HashMap<ReleaseId, String> = repo::told(&mut change, deployment).await?.into_iter().collect();
        let (mut added, mut updated, mut kept, mut last, mut is_noted) = (0, 0, Vec::new(), imported.last_label, false);
        for entry in self.releases {
            let label = i64::from(entry.release.label.number());
            if let Some(row) = here.get(&label) {
                let merged = merge::merge(row, &entry.release, told.get(&row.id).map(String::as_str))?;
                if merged.is_changed {
                    releases::update(&mut change, &merged.row).await?;
                    updated += 1;
                }
                if merged.is_conflict {
                    kept.push(entry.release.label);
                }
                if told.get(&row.id) != Some(&merged.told) {
                    repo::tell(&mut change, &row.id, &merged.told).await?;
                    is_noted = true;
                }
                continue;
            }
            // Not one that was left out before: labels only grow.
            if label <= last {
                continue;
            }
            let gone = || Ok(Written::Gone(entry.blob.clone()));
            let Some(package) = &entry.package else { return gone() };
            let row = row(&change, &entry.release, package)?;
            if !hold(&mut change, app, package).await? {
                return gone();
            }
            releases::insert(&mut change, &NewReleaseRow { deployment, app, row: &row }).await?;
            repo::tell(&mut change, &row.id, &merge::said_of(&entry.release)?).await?;
            if entry.counts_directories {
                repo::mark(&mut change, &row.id).await?;
            }
            (added, last) = (added + 1, label);
        }
        let counts = self.counts.map(serde_json::to_string).transpose().map_err(Error::internal)?;
        let counted = repo::counts(&mut change, deployment).await?;
        let is_counted = counts.as_ref().is_none_or(|counts| counted.as_deref().unwrap_or("{}") == counts);
        let is_same = added == 0 && updated == 0 && is_counted;
        let outcome = Written::Done(Outcome::Imported { added, updated, kept });
        if is_same {
            if is_noted {
                change.commit_bookkeeping().await?;
            }
            return Ok(outcome);
        }
        let context = change.context();
        size::check_whole(&mut change, context, app, deployment, !self.ignores_quotas).await?;
        deployments::raise_last_label(&mut change, deployment, last).await?;
        match (counts, counted) {
            // They are of an earlier time.
            (None, Some(_)) => repo::raise_label(&mut change, deployment, last).await?,
            (counts, _) => repo::update_deployment(&mut change, deployment, last, counts.as_deref().unwrap_or("{}"), now).await?,
        };
        snapshots::enqueue(&mut change, &locked.deployment_key, now).await?;
        need_diffs(&mut change, app, now).await?;
        let details = json!({ "source": self.source, "added": added, "updated": updated });
        change.commit(Event::new(Action::ImportReleases, deployment).of_app(app).with(details)).await?;
        Ok(outcome)
    }
}

fn row(change: &Change<'_>, release: &plan::Release, package: &StoredPackage) -> Result<ReleaseRow> {
    let now = change.now();
    Ok(ReleaseRow {
        id: ReleaseId::v7(now, change.context().entropy.bytes()?),
        label: i64::from(release.label.number()),
        app_version: release.range.text().to_owned(),
        description: release.description.clone(),
        is_mandatory: release.is_mandatory,
        is_disabled: release.is_disabled,
        rollout: info::stored_rollout(release.rollout),
        package_hash: package.package_hash.clone(),
        blob_sha256: package.blob.clone(),
        manifest_sha256: package.manifest.clone(),
        size: i64::try_from(package.size).map_err(Error::internal)?,
        release_method: match release.method {
            plan::Method::Upload => ReleaseMethod::Upload,
            plan::Method::Promote => ReleaseMethod::Promote,
            plan::Method::Rollback => ReleaseMethod::Rollback,
        },
        original_label: release.original_label.map(|label| i64::from(label.number())),
        original_deployment: release.original_deployment.clone(),
        released_by: release.released_by.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
        // The other server's clock can be ahead.
        upload_time: release.upload_time.map_or(now, |time| time.min(now)),
    })
}

/// Whether a release here has the package of this one.
fn has_package(row: &ReleaseRow, entry: &Imported) -> bool {
    let told = entry.package.as_ref().map(|package| &package.package_hash).or(entry.release.package_hash.as_ref());
    // The same bytes are the same package, also if the source tells its hash at one time, and at another not.
    match (told, &entry.blob) {
        (_, Some(blob)) if *blob == row.blob_sha256 => true,
        (Some(hash), _) => row.package_hash == *hash,
        (None, blob) => blob.is_none(),
    }
}

/// Claims the blobs of a package for a release. `false` if one is gone.
async fn hold(change: &mut Change<'_>, app: &AppId, package: &StoredPackage) -> Result<bool> {
    // In a fixed order, as uploads do.
    for sha256 in package.manifest.iter().chain([&package.blob]).collect::<BTreeSet<_>>() {
        if !blob::hold(change, app, sha256).await? {
            return Ok(false);
        }
    }
    // A package that was sent for the import has noted them already.
    if package.manifest.is_some() && !package.file_sizes.is_empty() {
        contents::note_sizes(change, app, &package.blob, &package.file_sizes).await?;
    }
    Ok(true)
}
