//! Looks at the newest packages of an app: devices can still have their folders, and files that are not in a package hash.

use std::collections::HashMap;

use shared::diff::Buried;
use shared::hash::Sha256Hex;
use shared::ids::AppId;
use shared::package::Manifest;
use shared::time::UnixMillis;

use super::Problem;
use super::packages::{self, blocking};
use super::repo::{self, BundleRow, MadeRow, ReleaseRow};
use super::trial::Trial;
use crate::domain::context::Context;
use crate::domain::error::Result;

/// How many packages of an app are looked at, the newest first.
const MOST: i64 = 50;
/// A release may have become visible so much later than its time says, in milliseconds: its transaction took a while, or another machine's clock differs.
const OVERLAP: i64 = 30_000;

/// The newest packages of an app.
#[derive(Clone, Debug)]
pub(super) struct History {
    bundles: Vec<BundleRow>,
    /// From when it is.
    pub time: UnixMillis,
}

impl History {
    /// Those of now. No package is read.
    pub(super) async fn read(app: &Context, of: &AppId) -> Result<Self> {
        let time = app.now();
        Ok(Self { bundles: repo::bundles(&mut app.db.read().await?, of, MOST).await?, time })
    }

    /// All bundles.
    pub(super) fn bundles(&self) -> Vec<&Sha256Hex> {
        self.bundles.iter().map(|bundle| &bundle.blob_sha256).collect()
    }

    /// The bundles that were not looked at when a diff to `target` was made, because they are newer.
    pub(super) fn newer_than(&self, made: &MadeRow, target: &Sha256Hex) -> Vec<&Sha256Hex> {
        self.after(made, target).map(|bundle| &bundle.blob_sha256).collect()
    }

    /// From when on a diff to `target` that devices are offered has to be looked at again because of such a bundle. Not before everybody sees the bundle: then one
    /// look is enough.
    pub(super) fn due(&self, made: &MadeRow, target: &Sha256Hex) -> Option<UnixMillis> {
        self.after(made, target).map(|bundle| bundle.first_time().plus_millis(OVERLAP)).min()
    }

    fn after<'h, 'd>(&'h self, made: &'d MadeRow, target: &'d Sha256Hex) -> impl Iterator<Item = &'h BundleRow> + use<'h, 'd> {
        // A time in the future comes from a clock that was set back since: every package may be newer.
        let is_known = made.made_time <= self.time.plus_millis(OVERLAP);
        let since = made.made_time.plus_millis(-OVERLAP);
        let is_other = move |bundle: &Sha256Hex| *bundle != made.base_sha256 && bundle != target;
        self.bundles.iter().filter(move |bundle| (!is_known || bundle.first_time() > since) && is_other(&bundle.blob_sha256))
    }
}

/// What in these bundles prevents diffs from `bases` to a package with these files. `made` is what is known of diffs to it.
///
/// A bundle that is missing or damaged is left out. On trial, so is one that cannot be read, if the storage is there, or that is the base of a diff for which
/// that is known. A process that ends here leaves the diff from the bundle unfinished, or all of them if the bundle is no base. Errors: those that may pass.
pub(super) async fn look(
    trial: &Trial<'_>,
    bundles: &[&Sha256Hex],
    made: &HashMap<Sha256Hex, MadeRow>,
    bases: &[ReleaseRow],
    target: &Manifest,
) -> Result<Buried> {
    let mut found = Buried::new(target);
    for bundle in bundles {
        let problem = made.get(*bundle).and_then(|row| row.problem);
        if trial.is_on() && matches!(problem, Some(Problem::Unfinished | Problem::BaseDamaged)) {
            continue;
        }
        let own = bases.iter().find(|base| base.blob_sha256 == **bundle).map(std::slice::from_ref);
        let reading = || Box::pin(packages::layout(trial.app, trial.of, bundle));
        match trial.run(own.unwrap_or(bases), Problem::BaseDamaged, reading).await? {
            Ok(layout) => {
                found = blocking(move || {
                    found.look_at(&layout);
                    found
                })
                .await?;
            }
            // Nothing is known of it.
            Err(Problem::TooManyFiles) => found.prevent_all(),
            Err(_) => {}
        }
    }
    Ok(found)
}
