//! A deployment's history: packages first, then all of its releases in one transaction.
//!
//! As long as every release here came from the source, a later run makes the history equal to the source's again: it adds what is new there, and takes
//! over what was changed. Once somebody has released here, it changes nothing.

use std::collections::{BTreeMap, HashMap};

use import::plan;
use import::source::Counts;
use import::staging::Staged;
use serde_json::json;
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId, ReleaseId};

use super::{Import, repo};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::deployments::{repo as deployments, snapshots};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::repo::{self as releases, NewReleaseRow, ReleaseRow};
use crate::domain::releases::service::StoredPackage;
use crate::domain::releases::{ReleaseMethod, blob, contents, info, size, upload};

/// How often to store packages again that the clean-up has deleted before their releases were there.
const ATTEMPTS: usize = 3;

/// Who released something, if the source does not say it.
const UNKNOWN: &str = "unknown";

/// What became of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the source's now.
    Imported {
        /// Releases that were not here.
        added: usize,
        /// Releases that were changed at the source.
        updated: usize,
    },
    /// Somebody has released here, or cleared the history: nothing was changed.
    HasOwn,
}

impl Import<'_> {
    /// Imports the releases of a deployment, oldest first, each with its checked package, and its counts. Errors: 409 for its size.
    pub async fn history(
        &self,
        app: &AppId,
        deployment: &DeploymentId,
        history: &[(plan::Release, Staged)],
        counts: &BTreeMap<String, Counts>,
    ) -> Result<Outcome> {
        for _ in 0..ATTEMPTS {
            let packages = self.store(app, history).await?;
            if let Some(outcome) = self.write(app, deployment, history, &packages, counts).await? {
                return Ok(outcome);
            }
        }
        Err(Error::unavailable("packages were deleted before their releases could be stored"))
    }

    /// Stores the packages. One that is there is not stored again.
    async fn store(&self, app: &AppId, history: &[(plan::Release, Staged)]) -> Result<Vec<StoredPackage>> {
        let mut stored: HashMap<&Sha256Hex, (Option<Sha256Hex>, Vec<u64>)> = HashMap::new();
        let mut packages = Vec::with_capacity(history.len());
        for (_, staged) in history {
            let (manifest, file_sizes) = match stored.get(&staged.sha256) {
                Some(known) => known.clone(),
                None => stored.entry(&staged.sha256).or_insert(self.store_one(app, staged).await?).clone(),
            };
            packages.push(StoredPackage {
                package_hash: staged.package_hash.clone(),
                blob: staged.sha256.clone(),
                manifest,
                size: staged.size,
                file_sizes,
            });
        }
        Ok(packages)
    }

    /// Stores a package. Returns its manifest and the sizes of its files.
    async fn store_one(&self, app: &AppId, staged: &Staged) -> Result<(Option<Sha256Hex>, Vec<u64>)> {
        let contents = staged.contents(&self.app.settings.limits.archive).await.map_err(Error::unavailable)?;
        upload::store(self.app, app, &staged.sha256, &staged.path).await?;
        let Some(manifest) = &contents.manifest else { return Ok((None, Vec::new())) };
        // Beside the package: storage's own folder is emptied only when the server starts.
        let folder = staged.path.parent().unwrap_or_else(|| self.app.storage.temp_dir());
        let (file, sha256) = upload::write_manifest(folder, manifest).await?;
        upload::store(self.app, app, &sha256, file.path()).await?;
        Ok((Some(sha256), contents.sizes))
    }

    /// Writes the history. `None` if a package is gone: store it again.
    async fn write(
        &self,
        app: &AppId,
        deployment: &DeploymentId,
        history: &[(plan::Release, Staged)],
        packages: &[StoredPackage],
        counts: &BTreeMap<String, Counts>,
    ) -> Result<Option<Outcome>> {
        let mut change = self.operator.begin_in(self.app).await?;
        let now = change.now();
        let locked = deployments::lock(&mut change, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        let imported = repo::deployment(&mut change, deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
        let here: HashMap<i64, ReleaseRow> =
            releases::history(&mut change, deployment).await?.into_iter().map(|row| (row.label, row)).collect();
        let is_cleared = here.is_empty() && locked.last_label > 0;
        if locked.last_label > imported.last_label || is_cleared {
            return Ok(Some(Outcome::HasOwn));
        }
        let (mut added, mut updated, mut last) = (0, 0, imported.last_label);
        for ((release, staged), package) in history.iter().zip(packages) {
            let label = i64::from(release.label.number());
            if let Some(row) = here.get(&label) {
                let changed = changed(row, release);
                if let Some(row) = changed {
                    releases::update(&mut change, &row).await?;
                    updated += 1;
                }
                continue;
            }
            // Not one that was left out before: labels only grow.
            if label <= last {
                continue;
            }
            let row = self.row(&change, release, package)?;
            if !hold(&mut change, app, package).await? {
                return Ok(None);
            }
            releases::insert(&mut change, &NewReleaseRow { deployment, app, row: &row }).await?;
            if staged.counts_directories {
                repo::mark(&mut change, &row.id).await?;
            }
            (added, last) = (added + 1, label);
        }
        let counts = serde_json::to_string(counts).map_err(Error::internal)?;
        let is_same = added == 0 && updated == 0 && imported.counts.as_deref().unwrap_or("{}") == counts;
        let outcome = Some(Outcome::Imported { added, updated });
        if is_same {
            return Ok(outcome);
        }
        size::check_whole(&mut change, self.app, app, deployment, !self.ignores_quotas).await?;
        deployments::raise_last_label(&mut change, deployment, last).await?;
        repo::update_deployment(&mut change, deployment, last, &counts, now).await?;
        snapshots::enqueue(&mut change, &locked.deployment_key, now).await?;
        let details = json!({ "source": self.source, "added": added, "updated": updated });
        change.commit(Event::new(Action::ImportReleases, deployment).of_app(app).with(details)).await?;
        Ok(outcome)
    }

    fn row(&self, change: &Change<'_>, release: &plan::Release, package: &StoredPackage) -> Result<ReleaseRow> {
        let now = change.now();
        Ok(ReleaseRow {
            id: ReleaseId::v7(now, self.app.entropy.bytes()?),
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
            upload_time: release.upload_time.unwrap_or(now),
        })
    }
}

/// The row with what was changed at the source since it was imported; `None` if nothing was.
fn changed(row: &ReleaseRow, release: &plan::Release) -> Option<ReleaseRow> {
    let new = ReleaseRow {
        app_version: release.range.text().to_owned(),
        description: release.description.clone(),
        is_mandatory: release.is_mandatory,
        is_disabled: release.is_disabled,
        rollout: info::stored_rollout(release.rollout),
        ..row.clone()
    };
    let told = |row: &ReleaseRow| (row.app_version.clone(), row.description.clone(), row.is_mandatory, row.is_disabled, row.rollout);
    (told(&new) != told(row)).then_some(new)
}

/// Claims the blobs of a package for a release. `false` if one is gone.
async fn hold(change: &mut Change<'_>, app: &AppId, package: &StoredPackage) -> Result<bool> {
    // In a fixed order, as uploads do.
    for sha256 in package.manifest.iter().chain([&package.blob]).collect::<std::collections::BTreeSet<_>>() {
        if !blob::hold(change, app, sha256).await? {
            return Ok(false);
        }
    }
    if package.manifest.is_some() {
        contents::note_sizes(change, app, &package.blob, &package.file_sizes).await?;
    }
    Ok(true)
}
