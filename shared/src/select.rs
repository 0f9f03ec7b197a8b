//! The selection: which update a device gets, and why.
//!
//! A pure function of snapshot and request, used by both `edge` and `control`. It follows the reference server's scan step by step (newest to
//! oldest), with four rules of its own:
//!
//! - A device without label and hash is on no release, so every mandatory release counts for it.
//! - An empty label or hash counts as absent.
//! - A device without a client ID is outside every rollout.
//! - The echoed version is always exactly what the device sent.
//!
//! [`explain`] is the same function with an [`Observer`]: [`crate::explanation`] tells people what it saw.

use crate::hash::Sha256Hex;
use crate::keys::{DeploymentKey, Label};
use crate::rollout;
use crate::snapshot::{Offer, Release, Snapshot};
use crate::version::{AppVersion, gtr};
use serde::{Deserialize, Serialize};

/// An update check. In the optional fields, empty means absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// The key of the device's deployment.
    pub deployment_key: DeploymentKey,
    /// The version of the installed app.
    pub app_version: AppVersion,
    /// The hash of the running package.
    pub package_hash: Option<String>,
    /// The label of the running release.
    pub label: Option<String>,
    /// The ID that the device chose for itself.
    pub client_id: Option<String>,
    /// Whether the app accepts releases for any version (a companion app).
    pub is_companion: bool,
}

impl CheckRequest {
    /// The client ID, unless absent or empty.
    pub fn client_id(&self) -> Option<&str> {
        given(self.client_id.as_ref())
    }
}

/// The result of an update check, and the reason for it.
#[derive(Debug, Clone)]
pub struct Decision<'s> {
    /// The answer.
    pub outcome: Outcome<'s>,
    /// The reason.
    pub reason: Reason,
}

/// The answer to an update check.
#[derive(Debug, Clone)]
pub enum Outcome<'s> {
    /// There is an update.
    Update {
        /// The release.
        release: &'s Release,
        /// Whether it is mandatory, or any release between it and the device's is.
        is_mandatory: bool,
        /// What to download: the diff from the device's package if there is one, else the full package.
        blob: &'s Sha256Hex,
        /// The size of the download, in bytes.
        size: u64,
    },
    /// There is no update.
    NoUpdate {
        /// No release targets this app version: the device should run the bundle that shipped with the app.
        should_run_binary_version: bool,
        /// The newest release targets another app version, which is not older than the device's.
        update_app_version: bool,
        /// The range of the newest release if the device's version is outside it; else empty.
        app_version: &'s str,
    },
}

/// The reason for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReasonCode))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The deployment has no releases.
    NoReleases,
    /// All releases are disabled.
    NothingEnabled,
    /// No enabled release targets the device's app version.
    NoReleaseForVersion,
    /// The device has the newest package for its app version.
    UpToDate,
    /// A fully rolled out release is newer.
    Update,
    /// An unfinished rollout includes the device.
    InRollout,
    /// An unfinished rollout does not include the device yet; the answer ignores unfinished rollouts.
    RolloutHeldBack,
    /// There is an unfinished rollout, and the device sent no client ID to take part with.
    NoClientId,
}

/// What a scan did with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Skipped it: it is disabled.
    Disabled,
    /// Skipped it: it is for other app versions.
    OtherVersion,
    /// Skipped it: it is in an unfinished rollout, and the device is outside of one.
    PassedOver,
    /// Settled on it: it is the newest for the device.
    Newest,
    /// Reached it after settling on a newer one, to see whether the update is mandatory.
    Older,
}

/// Watches a selection. The observer `()` of [`select`] compiles to nothing.
pub trait Observer {
    /// A scan begins at the newest release. A second one follows if an unfinished rollout does not include the device; only the last one counts.
    fn begin(&mut self);

    /// The scan reached the next older release.
    fn reach(&mut self, step: impl FnOnce() -> Step);
}

impl Observer for () {
    fn begin(&mut self) {}

    fn reach(&mut self, _: impl FnOnce() -> Step) {}
}

/// Decides which update a device gets.
pub fn select<'s>(snapshot: &'s Snapshot, request: &CheckRequest) -> Decision<'s> {
    explain(snapshot, request, &mut ())
}

/// [`select`], watched by an observer.
pub fn explain<'s>(snapshot: &'s Snapshot, request: &CheckRequest, observer: &mut impl Observer) -> Decision<'s> {
    let mut scanner = Scanner::new(snapshot, request);
    let newest = scanner.decide(Rollouts::Take, observer);
    let Outcome::Update { release, .. } = &newest.outcome else { return newest };
    let Some(percentage) = release.rollout else { return newest };
    let reason = match scanner.client_id {
        Some(client_id) if rollout::is_selected(client_id, &release.label, percentage) => {
            return Decision { reason: Reason::InRollout, ..newest };
        }
        Some(_) => Reason::RolloutHeldBack,
        None => Reason::NoClientId,
    };
    Decision { reason, ..scanner.decide(Rollouts::PassOver, observer) }
}

/// How a scan treats releases in an unfinished rollout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rollouts {
    Take,
    PassOver,
}

/// The result of a scan.
struct Scan<'s> {
    /// The newest enabled release, whatever its range.
    latest_enabled: Option<&'s Release>,
    /// The newest enabled release for the device's app version.
    latest_for_version: Option<(&'s Release, &'s Offer)>,
    /// Whether a release between the device's and the newest is mandatory.
    is_forced: bool,
}

/// How to recognize the release that the device is on.
#[derive(Clone, Copy)]
enum Current<'r> {
    /// By its label. If the device sends one, the hash is ignored.
    Labeled(Label),
    /// By the hash of the running package.
    Running(&'r str),
    /// The device is on no release: it is a new installation, or sent an invalid label.
    None,
}

struct Scanner<'s, 'r> {
    snapshot: &'s Snapshot,
    request: &'r CheckRequest,
    current: Current<'r>,
    package_hash: Option<&'r str>,
    client_id: Option<&'r str>,
    /// For each range of the snapshot, whether the device's version satisfies it; computed on first use.
    satisfied: Vec<Option<bool>>,
}

impl<'s, 'r> Scanner<'s, 'r> {
    fn new(snapshot: &'s Snapshot, request: &'r CheckRequest) -> Self {
        let package_hash = given(request.package_hash.as_ref());
        let current = match (given(request.label.as_ref()), package_hash) {
            (Some(label), _) => Label::try_from(label).map_or(Current::None, Current::Labeled),
            (None, Some(package_hash)) => Current::Running(package_hash),
            (None, None) => Current::None,
        };
        Self { snapshot, request, current, package_hash, client_id: request.client_id(), satisfied: vec![None; snapshot.range_count()] }
    }

    fn decide(&mut self, rollouts: Rollouts, observer: &mut impl Observer) -> Decision<'s> {
        if self.snapshot.releases().is_empty() {
            let outcome = Outcome::NoUpdate { should_run_binary_version: true, update_app_version: false, app_version: "" };
            return Decision { outcome, reason: Reason::NoReleases };
        }
        let scan = self.scan(rollouts, observer);
        let Some((release, offer)) = scan.latest_for_version.filter(|(release, _)| !self.runs(release)) else {
            return self.nothing_newer(&scan);
        };
        let diff = offer.diffs.iter().find(|diff| self.package_hash == Some(diff.source_hash.as_str()));
        let (blob, size) = diff.map_or((&offer.blob, offer.size), |diff| (&diff.blob, diff.size));
        let is_mandatory = scan.is_forced || release.is_mandatory;
        Decision { outcome: Outcome::Update { release, is_mandatory, blob, size }, reason: Reason::Update }
    }

    /// Scans from the newest release to the one that the device runs, or to the first mandatory one.
    fn scan(&mut self, rollouts: Rollouts, observer: &mut impl Observer) -> Scan<'s> {
        observer.begin();
        let mut scan = Scan { latest_enabled: None, latest_for_version: None, is_forced: false };
        let mut is_found = false;
        for release in self.snapshot.releases() {
            // Before the check for disabled releases: a device may be on one.
            is_found = is_found || self.is_current(release);
            if release.is_disabled {
                observer.reach(|| Step::Disabled);
                continue;
            }
            if rollouts == Rollouts::PassOver && release.rollout.is_some() {
                observer.reach(|| if self.targets(release) { Step::PassedOver } else { Step::OtherVersion });
                continue;
            }
            scan.latest_enabled.get_or_insert(release);
            if !self.targets(release) {
                observer.reach(|| Step::OtherVersion);
                continue;
            }
            let is_newest = scan.latest_for_version.is_none();
            observer.reach(|| if is_newest { Step::Newest } else { Step::Older });
            if is_newest {
                // The offer is always there: `Snapshot::parse` rejects a short form that could be chosen here.
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

    /// No update: the device has the newest package for its version, or there is none. At most hints that it needs another app version.
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

    /// Whether this is the release that the device is on.
    fn is_current(&self, release: &Release) -> bool {
        match self.current {
            Current::Labeled(label) => label == release.label,
            Current::Running(package_hash) => package_hash == release.package_hash.as_str(),
            Current::None => false,
        }
    }

    /// Whether the device runs this package.
    fn runs(&self, release: &Release) -> bool {
        self.package_hash == Some(release.package_hash.as_str())
    }

    /// Whether the release is for the device: it targets its app version, or the device accepts any.
    fn targets(&mut self, release: &Release) -> bool {
        self.request.is_companion || self.satisfies(release)
    }

    /// Whether the release targets the device's app version.
    fn satisfies(&mut self, release: &Release) -> bool {
        let Some(known) = self.satisfied.get_mut(release.range) else { return false };
        *known.get_or_insert_with(|| self.snapshot.range(release).is_some_and(|range| range.satisfies(self.request.app_version.version())))
    }
}

/// The text, unless absent or empty.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}
