//! The bundle that devices of a binary version have: what a build tool compiles the next one against, so that the two differ in little.

use std::collections::HashMap;

use shared::version::{AppVersion, Range};

use super::repo::{self, RangeRow, ReleaseRow};
use super::service::label;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::Result;

/// Which binaries the next release is for.
#[derive(Clone, Debug)]
pub enum Binaries {
    /// One version.
    Version(AppVersion),
    /// Those of a range: it has to be the same range as the release's.
    Range(Range),
}

impl Binaries {
    fn are_of(&self, range: &str) -> bool {
        // Ranges are checked when they are stored.
        let Ok(targets) = Range::parse(range) else { return false };
        match self {
            Self::Version(version) => targets.satisfies(version.version()),
            Self::Range(range) => targets.canonical() == range.canonical(),
        }
    }
}

/// The newest release for these binaries that is enabled and fully rolled out; `None` if there is none. A single-file package is none either: build tools
/// look for the bundle in an archive. Errors: 404.
pub async fn find(app: &Context, grant: &AppGrant<ManageReleases>, deployment: &str, binaries: &Binaries) -> Result<Option<ReleaseRow>> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?.id;
    let newest_first = repo::ranges(&mut tx, &deployment).await?;
    // Each distinct range is evaluated once, however many releases have it.
    let mut evaluated = HashMap::new();
    let mut are_of = |release: &RangeRow| *evaluated.entry(release.app_version.clone()).or_insert_with_key(|range| binaries.are_of(range));
    let mut qualifies = |release: &&RangeRow| !release.is_disabled && release.rollout.is_none() && are_of(release);
    let Some(newest) = newest_first.iter().find(|release| qualifies(release)) else { return Ok(None) };
    let release = repo::find(&mut tx, &deployment, label(newest.label)?).await?;
    Ok(release.filter(|release| release.manifest_sha256.is_some()))
}
