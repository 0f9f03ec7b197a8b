//! Decides what a diff deletes and writes.

use std::collections::{BTreeSet, HashSet};

use super::layout::Package;
use super::safety::{self, UnsafeName};
use crate::package::manifest::is_ignored;
use crate::package::{Manifest, is_signature};

const SIGNATURE: &str = ".codepushrelease";
/// The folder that macOS adds to archives. It is in no manifest.
const MACOS: &str = "__MACOSX";

/// What a diff does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    deleted: Vec<String>,
    written: Vec<String>,
}

impl Plan {
    /// The files that a device deletes, by name. Some may not exist on it.
    pub fn deleted(&self) -> &[String] {
        &self.deleted
    }

    /// The target's files that the diff has, in the order of the target's archive.
    pub fn written(&self) -> &[String] {
        &self.written
    }
}

/// Why no diff can be created from two packages. It stays so, because packages never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDiff {
    /// Both have the same package hash, so no device of the base is offered the target.
    #[error("both packages have the same files")]
    SameFiles,
    /// A device that applied the diff could end up with other files than the target's, or could not verify them.
    #[error("some devices could not apply a diff between files of these names")]
    UnsafeNames,
    /// An archive has other files than its manifest.
    #[error("the files of an archive are not those of its manifest")]
    OtherArchive,
}

/// Plans the diff that turns `base` into `target`.
///
/// Devices verify the result by [`Manifest::package_hash`]. A target that is released under another hash, as imported packages with directory entries can
/// be, must get no diffs: the caller knows the release.
///
/// Signatures are not part of the package hash, and packages of the same hash can have different ones. So the device's package may have other
/// signatures than `base`: the diff writes all of the target's, changed or not, and deletes those that the target does not have wherever SDKs look for
/// them, in each folder at the top and beside those.
pub fn plan(base: &Package<'_>, target: &Package<'_>) -> Result<Plan, NoDiff> {
    if base.manifest.package_hash() == target.manifest.package_hash() {
        return Err(NoDiff::SameFiles);
    }
    if !is_complete(base) || !is_complete(target) {
        return Err(NoDiff::OtherArchive);
    }
    if safety::find(base, target).is_some() {
        return Err(NoDiff::UnsafeNames);
    }

    let is_written = |name: &&str| {
        let hash = target.manifest.get(name);
        hash.is_some() && (is_signature(name) || base.manifest.get(name) != hash)
    };
    let written = target.layout.names().filter(is_written).map(str::to_owned).collect();
    let deleted = deleted(base, target.manifest);
    if safety::find_deleted(&deleted, target.manifest).is_some() {
        return Err(NoDiff::UnsafeNames);
    }
    Ok(Plan { deleted: deleted.into_iter().collect(), written })
}

/// The first name that prevents the diff from `base` to `target`: [`NoDiff::UnsafeNames`]. `None` if there is no such name.
pub fn unsafe_name(base: &Package<'_>, target: &Package<'_>) -> Option<UnsafeName> {
    safety::find(base, target).or_else(|| safety::find_deleted(&deleted(base, target.manifest), target.manifest))
}

/// The first name of a package that prevents every diff to it.
pub fn unsafe_target_name(target: &Package<'_>) -> Option<UnsafeName> {
    safety::find_in(target)
}

/// Whether the archive has exactly the manifest's files.
fn is_complete(package: &Package<'_>) -> bool {
    // Names with backslashes are counted, but never found: `safety::find` would refuse them anyway.
    let files: HashSet<&str> = package.layout.names().filter(|name| !is_ignored(name)).collect();
    let has_backslash = package.layout.names().any(|name| name.contains('\\'));
    has_backslash || (files.len() == package.manifest.len() && package.manifest.iter().all(|(name, _)| files.contains(name)))
}

fn deleted(base: &Package<'_>, target: &Manifest) -> BTreeSet<String> {
    let files = base.manifest.iter().map(|(name, _)| name.to_owned());
    let names = base.layout.names().chain(target.iter().map(|(name, _)| name));
    let folders: BTreeSet<&str> =
        names.filter_map(|name| name.split_once('/')).map(|(folder, _)| folder).filter(|folder| *folder != MACOS).collect();
    let signatures = folders.into_iter().map(|folder| format!("{folder}/{SIGNATURE}")).chain([SIGNATURE.to_owned()]);
    files.chain(signatures).filter(|name| target.get(name).is_none()).collect()
}
