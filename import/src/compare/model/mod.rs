//! What a server with a history answers: this service's selection, with the known faults of the reference where they are looked for.

#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeSet, HashMap};

use shared::hash::PackageHash;
use shared::ids::{AppId, DeploymentId};
use shared::keys::Label;
use shared::select::{CheckRequest, Outcome, Reason, select};
use shared::snapshot::{HistoryRelease, Snapshot, SnapshotHeader};
use shared::time::UnixMillis;
use shared::version::Range;

use super::answer::Info;
use super::check::Request;
use crate::source::Entry;

/// In place of an app version that is no range: no version is in it.
const NO_RANGE: &str = "<0.0.0-0";
/// The most histories with a change to keep.
const MOST_KEPT: usize = 128;

/// A fault of the reference that devices see (wire facts, part 2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KnownFault {
    /// A device that sends no label is never found in the history, although it sends its package hash: older mandatory releases make every update
    /// mandatory.
    LabelUndefined,
    /// A new installation counts as being on the newest release: older mandatory releases do not count.
    NewIsFound,
    /// Devices without client ID are all in the bucket of the text `undefined`.
    ClientUndefined,
    /// The answer to a short version from a rollout has the full version: the device downloads the update at each start.
    ShortVersionLost,
    /// An empty target version is carried over as `*`.
    EmptyRange,
}

impl KnownFault {
    /// The faults that this check can meet.
    pub(super) fn possible(request: &Request) -> Vec<Self> {
        let mut possible = Vec::new();
        if !request.has_label && request.hash().is_some() {
            possible.push(Self::LabelUndefined);
        }
        if request.label().is_none() && request.hash().is_none() {
            possible.push(Self::NewIsFound);
        }
        if !request.has_client_id {
            possible.push(Self::ClientUndefined);
        }
        if request.expanded().is_some() {
            possible.push(Self::ShortVersionLost);
        }
        possible.push(Self::EmptyRange);
        possible
    }
}

/// A difference between two histories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edit {
    pub(super) label: Label,
    pub(super) change: Change,
}

/// What became of a release.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Change {
    Missing,
    /// All releases after this one are missing.
    MissingAfter,
    Disabled(bool),
    Rollout(Option<u8>),
    Mandatory(bool),
    /// No release is mandatory.
    NoneMandatory,
    Description(Option<String>),
    Range(String),
    Package(PackageHash),
    Added(Box<Added>),
}

/// A release that the other history does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Added {
    pub(super) package_hash: PackageHash,
    pub(super) range: String,
    pub(super) description: Option<String>,
    pub(super) is_mandatory: bool,
    pub(super) is_disabled: bool,
    pub(super) rollout: Option<u8>,
}

/// A history, and the histories that differ from it in one thing.
#[derive(Debug)]
pub(super) struct Model {
    /// Newest first.
    pub(super) releases: Vec<HistoryRelease>,
    /// The old server's releases that are rollbacks.
    rollbacks: BTreeSet<Label>,
    snapshots: HashMap<Option<Edit>, Option<Snapshot>>,
}

impl Model {
    pub(super) fn new(releases: Vec<HistoryRelease>) -> Self {
        Self { releases, rollbacks: BTreeSet::new(), snapshots: HashMap::new() }
    }

    /// The old server's history, as its API tells it, and the hashes and sizes that it leaves out from the history here.
    pub(super) fn of_entries(entries: &[Entry], here: &[HistoryRelease]) -> Self {
        let (mut releases, mut rollbacks): (Vec<HistoryRelease>, _) = (Vec::new(), BTreeSet::new());
        for entry in entries {
            let next = releases.last().map_or(1, |last| last.label.number() + 1);
            let label = entry.label.as_deref().map_or_else(|| Label::new(next), |text| Label::try_from(text).ok());
            let Some(label) = label.filter(|label| label.number() >= next) else { continue };
            let known = here.iter().find(|release| release.label == label);
            let hash = entry.package_hash.as_deref().and_then(|text| PackageHash::try_from(text).ok());
            let Some(package_hash) = hash.or_else(|| known.map(|known| known.package_hash.clone())) else { continue };
            let range = match entry.app_version.as_deref().map(str::trim) {
                None | Some("") => "*".to_owned(),
                Some(text) if Range::parse(text).is_ok() => text.to_owned(),
                Some(_) => NO_RANGE.to_owned(),
            };
            if entry.release_method.as_deref() == Some("Rollback") {
                rollbacks.insert(label);
            }
            releases.push(HistoryRelease {
                label,
                range,
                is_mandatory: entry.is_mandatory,
                is_disabled: entry.is_disabled,
                // Null, 0 and 100 mean every device (wire facts, part 2.3).
                rollout: entry.rollout.and_then(|rollout| u8::try_from(rollout).ok()).filter(|rollout| (1..100).contains(rollout)),
                description: entry.description.clone().filter(|text| !text.is_empty()),
                size: entry.size.or(known.map(|known| known.size)).unwrap_or_default(),
                blob: package_hash.clone(),
                package_hash,
                diffs: Vec::new(),
            });
        }
        releases.reverse();
        Self { rollbacks, ..Self::new(releases) }
    }

    /// Whether the old server's release of this label is a rollback.
    pub(super) fn is_rollback(&self, label: Label) -> bool {
        self.rollbacks.contains(&label)
    }

    pub(super) fn release(&self, label: Label) -> Option<&HistoryRelease> {
        self.releases.iter().find(|release| release.label == label)
    }

    pub(super) fn newest(&self) -> u32 {
        self.releases.first().map_or(0, |release| release.label.number())
    }

    /// The answer of a server with this history, one change to it, and these faults. `None` if there is no such history.
    pub(super) fn answer(&mut self, edit: Option<&Edit>, request: &Request, faults: &[KnownFault]) -> Option<Info> {
        if self.snapshots.len() >= MOST_KEPT {
            self.snapshots.clear();
        }
        let releases = &self.releases;
        let snapshot = self.snapshots.entry(edit.cloned()).or_insert_with(|| snapshot(&edited(releases, edit)));
        snapshot.as_ref().map(|snapshot| answer(snapshot, request, faults))
    }

    /// Whether the reference fails at this check: the newest enabled release has an app version that is no range.
    pub(super) fn fails_at(&mut self, request: &Request) -> bool {
        self.answer(None, request, &[]).is_some_and(|info| !info.is_available && info.target == NO_RANGE)
    }
}

fn answer(snapshot: &Snapshot, request: &Request, faults: &[KnownFault]) -> Info {
    let has = |fault| faults.contains(&fault);
    let mut check = request.check.clone();
    if has(KnownFault::LabelUndefined) {
        check.label = Some("undefined".to_owned());
    }
    if has(KnownFault::NewIsFound) {
        check.label = snapshot.releases().first().map(|newest| newest.label.to_string());
    }
    if has(KnownFault::ClientUndefined) {
        check.client_id = Some("undefined".to_owned());
    }
    let decision = select(snapshot, &check);
    let mut info = match &decision.outcome {
        Outcome::Update { release, is_mandatory, size, .. } => Info {
            is_available: true,
            package_hash: release.package_hash.to_string(),
            label: release.label.to_string(),
            is_mandatory: *is_mandatory,
            description: release.description().unwrap_or_default().to_owned(),
            target: check.app_version.sent().to_owned(),
            size: *size,
            has_address: true,
            ..Info::default()
        },
        Outcome::NoUpdate { should_run_binary_version, update_app_version, app_version } => Info {
            target: (*app_version).to_owned(),
            update_app_version: *update_app_version,
            should_run_binary: *should_run_binary_version,
            ..Info::default()
        },
    };
    if has(KnownFault::ShortVersionLost)
        && decision.reason == Reason::InRollout
        // The reference restores the short version only if the answer outside the rollout has it, too.
        && matches!(select(snapshot, &CheckRequest { client_id: None, ..check }).outcome, Outcome::NoUpdate { .. })
        && let Some(full) = request.expanded()
    {
        info.target = full;
    }
    if has(KnownFault::EmptyRange) && !info.is_available && info.target == "*" {
        info.target = String::new();
    }
    info
}

fn edited(releases: &[HistoryRelease], edit: Option<&Edit>) -> Vec<HistoryRelease> {
    let mut releases = releases.to_vec();
    let Some(Edit { label, change }) = edit else { return releases };
    match change {
        Change::Missing => releases.retain(|release| release.label != *label),
        Change::MissingAfter => releases.retain(|release| release.label <= *label),
        Change::NoneMandatory => releases.iter_mut().for_each(|release| release.is_mandatory = false),
        Change::Added(added) => {
            let place = releases.partition_point(|release| release.label > *label);
            let Added { package_hash, range, description, is_mandatory, is_disabled, rollout } = (**added).clone();
            let (blob, size, label) = (package_hash.clone(), 0, *label);
            let diffs = Vec::new();
            let release = HistoryRelease { label, range, package_hash, is_mandatory, is_disabled, rollout, description, size, blob, diffs };
            releases.insert(place, release);
        }
        change => {
            let Some(release) = releases.iter_mut().find(|release| release.label == *label) else { return releases };
            match change {
                Change::Disabled(is_disabled) => release.is_disabled = *is_disabled,
                Change::Rollout(rollout) => release.rollout = *rollout,
                Change::Mandatory(is_mandatory) => release.is_mandatory = *is_mandatory,
                Change::Description(description) => release.description.clone_from(description),
                Change::Range(range) => range.clone_into(&mut release.range),
                Change::Package(hash) => release.package_hash = hash.clone(),
                Change::Missing | Change::MissingAfter | Change::NoneMandatory | Change::Added(_) => {}
            }
        }
    }
    releases
}

/// `None` for what no history can be, such as one with a range that is none.
fn snapshot(releases: &[HistoryRelease]) -> Option<Snapshot> {
    // The header says nothing about answers.
    let (time, random) = (UnixMillis(0), [0; 10]);
    let header = SnapshotHeader { deployment: DeploymentId::v7(time, random), app: AppId::v7(time, random), version: 1, created: time };
    Snapshot::parse(Snapshot::publish(&header, releases).ok()?.as_bytes()).ok()
}
