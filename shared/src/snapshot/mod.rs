//! The snapshot of a deployment: what the publisher writes to KV and the edge answers from.
//!
//! [`Snapshot::publish`] makes the text, [`Snapshot::parse`] reads it and compiles each range once. Releases that no client can be offered any
//! more stand in it in a short form. Not here: which release a client gets, that is [`crate::select`].

mod format;
mod size;

use crate::Invalid;
use crate::hash::{PackageHash, Sha256Hex};
use crate::ids::{AppId, DeploymentId};
use crate::keys::Label;
use crate::time::UnixMillis;
use crate::version::Range;
use std::hash::Hash;

pub use size::{Size, Sketch, json_length, offered};

/// One stored release, in full: the publisher's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRelease {
    /// Its label.
    pub label: Label,
    /// The range of binary versions it targets.
    pub range: String,
    /// The hash clients know its contents by.
    pub package_hash: PackageHash,
    /// Whether clients must install it.
    pub is_mandatory: bool,
    /// Whether it is withdrawn.
    pub is_disabled: bool,
    /// The percentage of clients it is for, 1 to 100; none means all.
    pub rollout: Option<u8>,
    /// The release notes; none when never set.
    pub description: Option<String>,
    /// The size of the full package, in bytes.
    pub size: u64,
    /// The hash of the full package's bytes.
    pub blob: Sha256Hex,
    /// The diffs that lead to it.
    pub diffs: Vec<DiffSource>,
}

/// A diff: what a client with one particular package needs to get a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSource {
    /// The package the client must have.
    pub source_hash: PackageHash,
    /// The hash of the diff's bytes.
    pub blob: Sha256Hex,
    /// The size of the diff, in bytes.
    pub size: u64,
}

/// Whose snapshot it is, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// The deployment.
    pub deployment: DeploymentId,
    /// The app it belongs to.
    pub app: AppId,
    /// Grows with every snapshot of a deployment key; a lower one never replaces a higher one.
    pub version: i64,
    /// When it was made.
    pub made: UnixMillis,
}

/// A parsed snapshot, ready to select from.
#[derive(Debug, Clone)]
pub struct Snapshot {
    header: SnapshotHeader,
    is_tombstone: bool,
    ranges: Vec<Range>,
    releases: Vec<Release>,
    weight: usize,
}

/// A release as the selection sees it.
#[derive(Debug, Clone)]
pub struct Release {
    /// Its label.
    pub label: Label,
    /// The hash clients know its contents by.
    pub package_hash: PackageHash,
    /// Whether clients must install it.
    pub is_mandatory: bool,
    /// Whether it is withdrawn.
    pub is_disabled: bool,
    /// The percentage of clients it is for while its rollout is unfinished, 1 to 99; else none.
    pub rollout: Option<u8>,
    /// The index of its range in the snapshot's table.
    pub(crate) range: usize,
    /// What is needed to offer it; none in the short form.
    pub(crate) offer: Option<Box<Offer>>,
}

/// What is needed to offer a release.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) description: Option<String>,
    pub(crate) size: u64,
    pub(crate) blob: Sha256Hex,
    pub(crate) diffs: Vec<DiffSource>,
}

impl Release {
    /// The release notes; none when never set, and in the short form.
    pub fn description(&self) -> Option<&str> {
        self.offer.as_ref().and_then(|offer| offer.description.as_deref())
    }
}

impl Snapshot {
    /// The JSON text for KV of a deployment with these releases, newest first. Releases that can no longer be offered are cut to the short
    /// form. An error names what the stored releases can never hold: labels that do not fall, a range that cannot be read, a rollout
    /// outside 1 to 100.
    pub fn publish(header: &SnapshotHeader, newest_first: &[HistoryRelease]) -> Result<String, Invalid> {
        format::write(header, newest_first, usize::MAX)
    }

    /// [`Snapshot::publish`] in at most so many bytes: beyond that it leaves out the diffs of the oldest releases, then their descriptions. What is
    /// larger even so is published nevertheless: a client must get its update, whatever it is told of it.
    pub fn publish_within(header: &SnapshotHeader, newest_first: &[HistoryRelease], most_bytes: usize) -> Result<String, Invalid> {
        format::write(header, newest_first, most_bytes)
    }

    /// The JSON text for KV of a deleted deployment: its key is answered 404.
    pub fn publish_tombstone(header: &SnapshotHeader) -> String {
        format::write_tombstone(header)
    }

    /// Reads what [`Snapshot::publish`] wrote, in the current format and the one before it. Anything else is an error.
    pub fn parse(bytes: &[u8]) -> Result<Self, Invalid> {
        format::read(bytes)
    }

    /// The version of the snapshot that these bytes are, by a look that costs far less than to parse it; none where there is none.
    pub fn version_in(bytes: &[u8]) -> Option<i64> {
        format::version(bytes)
    }

    /// The version: grows with every snapshot of a deployment key.
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

    /// When it was made.
    pub fn made(&self) -> UnixMillis {
        self.header.made
    }

    /// Whether the deployment was deleted.
    pub fn is_tombstone(&self) -> bool {
        self.is_tombstone
    }

    /// The bytes it holds in memory; an upper estimate, for a cache that is bounded by bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// The releases, newest first.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The range a release of this snapshot targets.
    pub(crate) fn range(&self, release: &Release) -> Option<&Range> {
        self.ranges.get(release.range)
    }

    /// How many distinct ranges there are.
    pub(crate) fn range_count(&self) -> usize {
        self.ranges.len()
    }
}

/// For each release, newest first, whether it can never be chosen: it is disabled, or a newer one that is enabled and fully rolled out has
/// the same range, so that every scan which reaches it has chosen already.
///
/// Such a release still matters to the scan. A client may run it, and when mandatory it makes a newer choice mandatory; that is why the
/// short form keeps label, hash, both flags and range. It keeps an unfinished rollout too, because the scan for clients outside of
/// rollouts passes over unfinished releases even where they are only shadowed and mandatory.
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
