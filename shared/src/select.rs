//! THE selection: which update a client gets, and why.
//!
//! A pure function of the snapshot and the question, used by `edge` and `control` alike. It follows the reference server's scan step by
//! step (newest to oldest), with four choices: a client without label and hash is on no release, so that every mandatory one counts for
//! it; an empty label or hash is an absent one; a client without id is outside every rollout; and the version echoed is always exactly
//! what the client sent.

use crate::hash::Sha256Hex;
use crate::keys::{DeploymentKey, Label};
use crate::rollout;
use crate::snapshot::{Offer, Release, Snapshot};
use crate::version::{AppVersion, gtr};

/// The question of a client. In the optional texts, absent and empty are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// Which deployment it follows.
    pub deployment_key: DeploymentKey,
    /// The version of its binary.
    pub app_version: AppVersion,
    /// The hash of the package it runs.
    pub package_hash: Option<String>,
    /// The label of the release it runs.
    pub label: Option<String>,
    /// The id it gives itself.
    pub client_id: Option<String>,
    /// Whether it takes releases for any version (a companion app).
    pub is_companion: bool,
}

/// What a client gets, and why.
#[derive(Debug, Clone)]
pub struct Decision<'s> {
    /// What is answered.
    pub outcome: Outcome<'s>,
    /// Why.
    pub reason: Reason,
}

/// What is answered.
#[derive(Debug, Clone)]
pub enum Outcome<'s> {
    /// There is an update.
    Update {
        /// The release.
        release: &'s Release,
        /// Whether it or a release between it and the client's is mandatory.
        is_mandatory: bool,
        /// What to download: the diff from the client's package where there is one, else the full package.
        blob: &'s Sha256Hex,
        /// The size of the download, in bytes.
        size: u64,
    },
    /// There is none.
    NoUpdate {
        /// No release is for this binary: the client should run what it was shipped with.
        should_run_binary_version: bool,
        /// The newest release is for another binary that is not older than the client's.
        update_app_version: bool,
        /// The range of the newest release, where the client's version is outside of it; else empty.
        app_version: &'s str,
    },
}

/// Why a decision came out as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The deployment has no releases.
    NoReleases,
    /// All releases are disabled, or in rollouts that the client is not part of.
    NothingEnabled,
    /// No enabled release is for the client's version.
    NoReleaseForVersion,
    /// The client has the newest package for its version.
    UpToDate,
    /// A fully rolled out release is newer.
    Update,
    /// The client is among those who get an unfinished rollout.
    InRollout,
    /// An unfinished rollout is not for this client yet; it got what it would have got without.
    RolloutHeldBack,
    /// There is an unfinished rollout, and the client has no id by which to take part.
    NoClientId,
}

/// Decides which update a client gets.
pub fn select<'s>(snapshot: &'s Snapshot, request: &CheckRequest) -> Decision<'s> {
    let mut scanner = Scanner::new(snapshot, request);
    let newest = scanner.decide(Rollouts::Take);
    let Outcome::Update { release, .. } = &newest.outcome else { return newest };
    let Some(percentage) = release.rollout else { return newest };
    let reason = match scanner.client_id {
        Some(client_id) if rollout::is_selected(client_id, &release.label, percentage) => {
            return Decision { reason: Reason::InRollout, ..newest };
        }
        Some(_) => Reason::RolloutHeldBack,
        None => Reason::NoClientId,
    };
    Decision { reason, ..scanner.decide(Rollouts::PassOver) }
}

/// What to do with releases whose rollout is unfinished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rollouts {
    Take,
    PassOver,
}

/// Where a scan ended.
struct Scan<'s> {
    /// The newest enabled release, whatever its range.
    latest_enabled: Option<&'s Release>,
    /// The newest enabled release for the client's version.
    latest_for_version: Option<(&'s Release, &'s Offer)>,
    /// Whether a mandatory release lies between the client's release and the newest.
    is_forced: bool,
}

/// How to know the release the client is on.
#[derive(Clone, Copy)]
enum Current<'r> {
    /// By its label; once one is sent it decides alone.
    Labelled(Label),
    /// By the package it runs.
    Running(&'r str),
    /// It is on none: the client is fresh, or named a label that no release can have.
    None,
}

struct Scanner<'s, 'r> {
    snapshot: &'s Snapshot,
    request: &'r CheckRequest,
    current: Current<'r>,
    package_hash: Option<&'r str>,
    client_id: Option<&'r str>,
    /// For each range of the snapshot, whether it takes the client's version, once that is known.
    satisfied: Vec<Option<bool>>,
}

impl<'s, 'r> Scanner<'s, 'r> {
    fn new(snapshot: &'s Snapshot, request: &'r CheckRequest) -> Self {
        let package_hash = given(request.package_hash.as_ref());
        let current = match (given(request.label.as_ref()), package_hash) {
            (Some(label), _) => Label::try_from(label).map_or(Current::None, Current::Labelled),
            (None, Some(package_hash)) => Current::Running(package_hash),
            (None, None) => Current::None,
        };
        Self {
            snapshot,
            request,
            current,
            package_hash,
            client_id: given(request.client_id.as_ref()),
            satisfied: vec![None; snapshot.range_count()],
        }
    }

    fn decide(&mut self, rollouts: Rollouts) -> Decision<'s> {
        if self.snapshot.releases().is_empty() {
            let outcome = Outcome::NoUpdate { should_run_binary_version: true, update_app_version: false, app_version: "" };
            return Decision { outcome, reason: Reason::NoReleases };
        }
        let scan = self.scan(rollouts);
        let Some((release, offer)) = scan.latest_for_version.filter(|(release, _)| !self.runs(release)) else {
            return self.nothing_newer(&scan);
        };
        let diff = offer.diffs.iter().find(|diff| self.package_hash == Some(diff.source_hash.as_str()));
        let (blob, size) = diff.map_or((&offer.blob, offer.size), |diff| (&diff.blob, diff.size));
        let is_mandatory = scan.is_forced || release.is_mandatory;
        Decision { outcome: Outcome::Update { release, is_mandatory, blob, size }, reason: Reason::Update }
    }

    /// From the newest release to the one the client runs, or to the first that is mandatory.
    fn scan(&mut self, rollouts: Rollouts) -> Scan<'s> {
        let mut scan = Scan { latest_enabled: None, latest_for_version: None, is_forced: false };
        let mut is_found = false;
        for release in self.snapshot.releases() {
            // Before the test for disabled ones: a client on a disabled release is on it all the same.
            is_found = is_found || self.is_current(release);
            if release.is_disabled || (rollouts == Rollouts::PassOver && release.rollout.is_some()) {
                continue;
            }
            scan.latest_enabled.get_or_insert(release);
            if !self.request.is_companion && !self.satisfies(release) {
                continue;
            }
            if scan.latest_for_version.is_none() {
                // Always there: `Snapshot::parse` refuses a short form where it could be the first to come here.
                scan.latest_for_version = release.offer.as_deref().map(|offer| (release, offer));
            }
            if is_found {
                break;
            }
            if release.is_mandatory {
                scan.is_forced = true;
                break;
            }
        }
        scan
    }

    /// The client has the newest package for its version, or there is none: at most a hint that it needs another binary.
    fn nothing_newer(&mut self, scan: &Scan<'s>) -> Decision<'s> {
        let should_run_binary_version = scan.latest_for_version.is_none();
        let mut update_app_version = false;
        let mut app_version = "";
        if let Some(latest) = scan.latest_enabled
            && let Some(range) = self.snapshot.range(latest)
            && !self.satisfies(latest)
        {
            update_app_version = !gtr(self.request.app_version.version(), range);
            app_version = range.text();
        }
        let reason = match (scan.latest_enabled, should_run_binary_version) {
            (None, _) => Reason::NothingEnabled,
            (Some(_), true) => Reason::NoReleaseForVersion,
            (Some(_), false) => Reason::UpToDate,
        };
        Decision { outcome: Outcome::NoUpdate { should_run_binary_version, update_app_version, app_version }, reason }
    }

    /// Whether this is the release the client is on.
    fn is_current(&self, release: &Release) -> bool {
        match self.current {
            Current::Labelled(label) => label == release.label,
            Current::Running(package_hash) => package_hash == release.package_hash.as_str(),
            Current::None => false,
        }
    }

    /// Whether the client runs this package.
    fn runs(&self, release: &Release) -> bool {
        self.package_hash == Some(release.package_hash.as_str())
    }

    /// Whether the release is for the client's version.
    fn satisfies(&mut self, release: &Release) -> bool {
        let Some(known) = self.satisfied.get_mut(release.range) else { return false };
        *known.get_or_insert_with(|| self.snapshot.range(release).is_some_and(|range| range.satisfies(self.request.app_version.version())))
    }
}

/// A text that is there and not empty.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}
