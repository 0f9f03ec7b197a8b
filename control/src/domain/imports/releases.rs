//! A deployment's history as the operator imports it, from packages on this machine: they are stored first, then all releases are written at once.

use std::collections::{BTreeMap, HashMap};

use import::plan;
use import::report::Outcome;
use import::source::Counts;
use import::staging::Staged;
use shared::hash::Sha256Hex;
use shared::ids::{AppId, DeploymentId};

use super::Import;
use super::history::{History, Imported, Written};
use crate::domain::error::{Error, Result};
use crate::domain::releases::blob::Purpose;
use crate::domain::releases::service::StoredPackage;
use crate::domain::releases::upload;

/// How often to store packages again that the clean-up has deleted before their releases were there.
const ATTEMPTS: usize = 3;

impl Import<'_> {
    /// Imports the releases of a deployment, oldest first, and its counts. A release that is not here yet has its checked package. Errors: 409 for its size.
    pub async fn history(
        &self,
        app: &AppId,
        deployment: &DeploymentId,
        history: &[(plan::Release, Option<Staged>)],
        counts: Option<&BTreeMap<String, Counts>>,
    ) -> Result<Outcome> {
        for _ in 0..ATTEMPTS {
            let releases = self.store(app, history).await?;
            let (source, ignores_quotas) = (&*self.source, self.ignores_quotas);
            let write = History { app, deployment, source, releases: &releases, counts, ignores_quotas }.write(self.begin().await?);
            if let Written::Done(outcome) = write.await? {
                return Ok(outcome);
            }
        }
        Err(Error::unavailable("packages were deleted before their releases could be stored"))
    }

    /// Stores the packages. One that is there is not stored again.
    async fn store(&self, app: &AppId, history: &[(plan::Release, Option<Staged>)]) -> Result<Vec<Imported>> {
        let mut stored: HashMap<&Sha256Hex, (Option<Sha256Hex>, Vec<u64>)> = HashMap::new();
        let mut releases = Vec::with_capacity(history.len());
        for (release, staged) in history {
            let Some(staged) = staged else {
                releases.push(Imported { release: release.clone(), blob: None, package: None, counts_directories: false });
                continue;
            };
            let (manifest, file_sizes) = match stored.get(&staged.sha256) {
                Some(known) => known.clone(),
                None => stored.entry(&staged.sha256).or_insert(self.store_one(app, staged).await?).clone(),
            };
            let package = StoredPackage {
                package_hash: staged.package_hash.clone(),
                blob: staged.sha256.clone(),
                manifest,
                size: staged.size,
                file_sizes,
            };
            let (blob, counts_directories) = (Some(staged.sha256.clone()), staged.counts_directories);
            releases.push(Imported { release: release.clone(), blob, package: Some(package), counts_directories });
        }
        Ok(releases)
    }

    /// Stores a package. Returns its manifest and the sizes of its files.
    async fn store_one(&self, app: &AppId, staged: &Staged) -> Result<(Option<Sha256Hex>, Vec<u64>)> {
        let contents = staged.contents(&self.app.settings.limits.archive).await.map_err(Error::unavailable)?;
        upload::store(self.app, app, &staged.sha256, &staged.path, Purpose::Package).await?;
        let Some(manifest) = &contents.manifest else { return Ok((None, Vec::new())) };
        // Beside the package: storage's own folder is emptied only when the server starts.
        let folder = staged.path.parent().unwrap_or_else(|| self.app.storage.temp_dir());
        let (file, sha256) = upload::write_manifest(folder, manifest).await?;
        upload::store(self.app, app, &sha256, file.path(), Purpose::Package).await?;
        Ok((Some(sha256), contents.sizes))
    }
}
