//! The snapshot of a deployment: the publisher writes it to KV, the edge answers update checks from it.
//!
//! [`Snapshot::publish`] writes the JSON, and [`SnapshotKeys::sign`] signs it; [`SnapshotKeys::verify`] verifies it before [`Snapshot::parse`] reads
//! it and compiles each range once. Releases that can no longer be offered have a
//! short form. Which release a device gets is decided in [`crate::select`].

mod envelope;
mod format;
mod size;

use crate::Invalid;
use crate::hash::{PackageHash, Sha256Hex};
use crate::ids::{AppId, DeploymentId};
use crate::keys::Label;
use crate::time::UnixMillis;
use crate::version::Range;
use std::hash::Hash;

pub use envelope::{Distrust, Signed, SnapshotKeys, signature_line};
pub use size::{ReleaseOutline, Size, json_length, offered};

/// A snapshot that was signed longer ago is asked for at control first, in milliseconds: 36 hours. Each is signed again within 12.
const MAX_AGE: u64 = 36 * 3_600_000;

/// A stored release with all its data: the publisher's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRelease {
    /// The label.
    pub label: Label,
    /// The range of app versions that it targets.
    pub range: String,
    /// The package hash that clients compute.
    pub package_hash: PackageHash,
    /// Whether devices must install it.
    pub is_mandatory: bool,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// The percentage of devices that get it, 1 to 100; `None` means all.
    pub rollout: Option<u8>,
    /// The release notes; `None` if never set.
    pub description: Option<String>,
    /// The size of the full package, in bytes.
    pub size: u64,
    /// The hash of the full package's bytes.
    pub blob: Sha256Hex,
    /// The diffs to it.
    pub diffs: Vec<DiffSource>,
}

/// A diff to a release from one particular package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSource {
    /// The package that the device must have.
    pub source_hash: PackageHash,
    /// The hash of the diff's bytes.
    pub blob: Sha256Hex,
    /// The size of the diff, in bytes.
    pub size: u64,
}

/// The identity of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// The deployment.
    pub deployment: DeploymentId,
    /// The app it belongs to.
    pub app: AppId,
    /// Increases with every snapshot of a deployment key; a lower version never replaces a higher one.
    pub version: i64,
    /// When it was created, and signed.
    pub created: UnixMillis,
}

/// What orders the snapshots of one deployment key: the version, then the time of signing. A lower one never replaces a higher one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// The version.
    pub version: i64,
    /// When it was signed; `None` in the previous format.
    pub signed: Option<UnixMillis>,
}

/// A parsed snapshot, ready for [`crate::select`].
#[derive(Debug, Clone)]
pub struct Snapshot {
    header: SnapshotHeader,
    signed: Option<UnixMillis>,
    is_tombstone: bool,
    ranges: Vec<Range>,
    releases: Vec<Release>,
    weight: usize,
}

/// A release of a snapshot.
#[derive(Debug, Clone)]
pub struct Release {
    /// The label.
    pub label: Label,
    /// The package hash that clients compute.
    pub package_hash: PackageHash,
    /// Whether devices must install it.
    pub is_mandatory: bool,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// The percentage of an unfinished rollout, 1 to 99; `None` means all devices.
    pub rollout: Option<u8>,
    /// The index of its range in the snapshot's table.
    pub(crate) range: usize,
    /// The data needed to offer it; `None` in the short form.
    pub(crate) offer: Option<Box<Offer>>,
}

/// The data needed to offer a release.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) description: Option<String>,
    pub(crate) size: u64,
    pub(crate) blob: Sha256Hex,
    pub(crate) diffs: Vec<DiffSource>,
}

impl Release {
    /// The release notes; `None` if never set, and in the short form.
    pub fn description(&self) -> Option<&str> {
        self.offer.as_ref().and_then(|offer| offer.description.as_deref())
    }
}

impl Snapshot {
    /// The JSON for KV of a deployment with these releases, newest first. Releases that can no longer be offered get the short form.
    /// Fails on what stored releases never have: labels that are not descending, an invalid range, a rollout outside 1 to 100.
    pub fn publish(header: &SnapshotHeader, newest_first: &[HistoryRelease]) -> Result<String, Invalid> {
        format::write(header, newest_first, usize::MAX)
    }

    /// [`Snapshot::publish`] in at most `max_bytes`: drops the diffs of the oldest releases first, then their descriptions. A snapshot that is
    /// still larger is published anyway, because devices must get their update even without its description.
    pub fn publish_within(header: &SnapshotHeader, newest_first: &[HistoryRelease], max_bytes: usize) -> Result<String, Invalid> {
        format::write(header, newest_first, max_bytes)
    }

    /// The JSON for KV of a deleted deployment: checks with its key get a 404.
    pub fn publish_tombstone(header: &SnapshotHeader) -> String {
        format::write_tombstone(header)
    }

    /// Parses the output of [`Snapshot::publish`], in the current format and the one before it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        format::read(bytes)
    }

    /// The version, which increases with every snapshot of a deployment key.
    pub fn version(&self) -> i64 {
        self.header.version
    }

    /// The app the deployment belongs to.
    pub fn app(&self) -> &AppId {
        &self.header.app
    }

    /// The deployment.
    pub fn deployment(&self) -> &DeploymentId {
        &self.header.deployment
    }

    /// When it was created.
    pub fn created(&self) -> UnixMillis {
        self.header.created
    }

    /// When it was signed: a snapshot that has not changed is signed again in time. `None` in the previous format.
    pub fn signed(&self) -> Option<UnixMillis> {
        self.signed
    }

    /// Its place among the snapshots of its deployment key.
    pub fn revision(&self) -> Revision {
        Revision { version: self.header.version, signed: self.signed }
    }

    /// Whether it was signed so long ago, or so far ahead, that somebody may be keeping newer ones back. Tombstones and snapshots without a time do
    /// not get old.
    pub fn is_old(&self, now: UnixMillis) -> bool {
        let age = |signed: UnixMillis| now.as_millis().abs_diff(signed.as_millis());
        !self.is_tombstone && self.signed.is_some_and(|signed| age(signed) > MAX_AGE)
    }

    /// Whether the deployment was deleted.
    pub fn is_tombstone(&self) -> bool {
        self.is_tombstone
    }

    /// An upper estimate of the bytes in memory, for caches that are bounded in bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The releases, newest first.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The range that a release of this snapshot targets.
    pub(crate) fn range(&self, release: &Release) -> Option<&Range> {
        self.ranges.get(release.range)
    }

    /// The number of distinct ranges.
    pub(crate) fn range_count(&self) -> usize {
        self.ranges.len()
    }
}

/// For each release, newest first, whether it can never be chosen: it is disabled, or a newer release with the same range is enabled and fully
/// rolled out, so every scan chooses that one first.
///
/// Such a release still matters to the scan. A device may run it, and if mandatory it makes a newer choice mandatory; so the short form keeps
/// label, hash, both flags and range. It also keeps an unfinished rollout, because the scan for devices outside rollouts skips unfinished
/// releases, even shadowed mandatory ones.
fn shadowed<R: Copy + Eq + Hash>(releases: impl Iterator<Item = (R, bool, Option<u8>)>) -> impl Iterator<Item = bool> {
    let mut covered = std::collections::HashSet::new();
    releases.map(move |(range, is_disabled, rollout)| {
        let is_short = is_disabled || covered.contains(&range);
        if !is_disabled && rollout.is_none() {
            covered.insert(range);
        }
        is_short
    })
}
