//! Why a device gets an update or none, in words for people: what [`crate::select`] decided, and what it did with each release.
//!
//! Nothing is decided here. Start reading at [`Explanation::of`].

use serde::{Deserialize, Serialize};

use crate::keys::Label;
use crate::rollout::bucket_of_device;
use crate::select::{CheckRequest, Decision, Observer, Outcome, Reason, Step, explain};
use crate::snapshot::{Release, Snapshot};
use crate::version::Range;

/// The most releases that an explanation lists, besides the one that the selection settled on.
pub const MAX_CONSIDERED: usize = 100;

/// A decision, and how it came about.
#[derive(Debug, Clone)]
pub struct Explanation<'s> {
    /// The decision, as in an update check.
    pub decision: Decision<'s>,
    /// The reason, as one sentence for people.
    pub text: String,
    /// The device's bucket, 0 to 99, in the unfinished rollout that decided. `None` if none did, and without a client ID.
    pub bucket: Option<u8>,
    /// The [`MAX_CONSIDERED`] newest releases, newest first, and then the one that the selection settled on, if it is older than these.
    pub considered: Vec<ConsideredRelease>,
}

/// A release, and why the device gets it or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConsideredRelease {
    /// Its label.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$"))]
    pub label: Label,
    /// Why the device gets it or not: `chosen` (it gets this one), `disabled`, `version` (the release is for other app versions), `rollout` (it is in an
    /// unfinished rollout that the device is not part of), `same_contents` (the device already runs its package), `older` (none of these, but a newer one
    /// was `chosen` or has the `same_contents`).
    pub verdict: Verdict,
    /// The same in a sentence for people. Its wording can change.
    pub text: String,
}

/// Why a device gets a release or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The device gets it.
    Chosen,
    /// It is disabled.
    Disabled,
    /// It is for other app versions.
    Version,
    /// It is in an unfinished rollout that the device is not part of.
    Rollout,
    /// The device already runs its package.
    SameContents,
    /// A newer release was chosen, or has the package that the device runs.
    Older,
}

impl Verdict {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Disabled => "disabled",
            Self::Version => "version",
            Self::Rollout => "rollout",
            Self::SameContents => "same_contents",
            Self::Older => "older",
        }
    }
}

impl<'s> Explanation<'s> {
    /// Decides which update a device gets, and explains it.
    pub fn of(snapshot: &'s Snapshot, request: &CheckRequest) -> Self {
        let mut trace = Trace::default();
        let decision = explain(snapshot, request, &mut trace);
        let at = |place: usize| snapshot.releases().get(place);
        let settled = trace.settled.and_then(at);
        // The release whose rollout decided: the device is outside of it, gets it, or has it.
        let staged = trace.held_back.and_then(at).or(settled).filter(|release| release.rollout.is_some());
        let bucket = staged.zip(request.client_id()).map(|(staged, client_id)| bucket_of_device(client_id, &staged.label));
        let words = Words { snapshot, request, decision: &decision, settled, staged, bucket };
        let newest_first = snapshot.releases().iter().enumerate();
        let considered = newest_first
            .filter(|(place, _)| *place < MAX_CONSIDERED || Some(*place) == trace.settled)
            .map(|(place, release)| {
                let verdict = match trace.verdict(place, &decision) {
                    // The scan ended before it. That a newer one was chosen is not why the device does not get it.
                    Verdict::Older if release.is_disabled => Verdict::Disabled,
                    Verdict::Older if !words.is_for_device(release) => Verdict::Version,
                    verdict => verdict,
                };
                ConsideredRelease { label: release.label, verdict, text: words.of_release(release, verdict) }
            })
            .collect();
        Self { text: words.of_reason(), bucket, considered, decision }
    }
}

/// The steps of the last scan, from the newest release on.
#[derive(Default)]
struct Trace {
    steps: Vec<Step>,
    /// The place of the release that it settled on.
    settled: Option<usize>,
    /// The place of the release that the scan before this one settled on: its rollout does not include the device.
    held_back: Option<usize>,
}

impl Observer for Trace {
    fn begin(&mut self) {
        self.held_back = self.settled.take();
        self.steps.clear();
    }

    fn reach(&mut self, step: impl FnOnce() -> Step) {
        let step = step();
        if step == Step::Newest {
            self.settled = Some(self.steps.len());
        }
        self.steps.push(step);
    }
}

impl Trace {
    fn verdict(&self, place: usize, decision: &Decision<'_>) -> Verdict {
        let is_behind = self.settled.is_some_and(|settled| settled < place);
        match self.steps.get(place) {
            _ if is_behind => Verdict::Older,
            Some(Step::Newest) if matches!(decision.outcome, Outcome::Update { .. }) => Verdict::Chosen,
            Some(Step::Newest) => Verdict::SameContents,
            Some(Step::Disabled) => Verdict::Disabled,
            Some(Step::OtherVersion) => Verdict::Version,
            Some(Step::PassedOver) => Verdict::Rollout,
            // A scan reaches every release until it settles on one.
            Some(Step::Older) | None => Verdict::Older,
        }
    }
}

/// The sentences about a decision.
struct Words<'w> {
    snapshot: &'w Snapshot,
    request: &'w CheckRequest,
    decision: &'w Decision<'w>,
    /// The release that the selection settled on: the device gets it, or has its package.
    settled: Option<&'w Release>,
    /// The release whose unfinished rollout decided.
    staged: Option<&'w Release>,
    /// The device's bucket in that rollout.
    bucket: Option<u8>,
}

impl Words<'_> {
    fn of_reason(&self) -> String {
        let settled = label(self.settled);
        let (staged, percent) = (label(self.staged), self.staged.and_then(|release| release.rollout).unwrap_or_default());
        let bucket = self.bucket.unwrap_or_default();
        let instead = match self.decision.outcome {
            Outcome::Update { .. } => format!("it gets {settled} instead"),
            Outcome::NoUpdate { .. } => "it gets no update".to_owned(),
        };
        match self.decision.reason {
            Reason::NoReleases => "The deployment has no releases.".to_owned(),
            Reason::NothingEnabled => "All releases are disabled.".to_owned(),
            Reason::NoReleaseForVersion => format!("No enabled release is for app version {}.", self.request.app_version.sent()),
            Reason::UpToDate => format!("The device already runs the package of {settled}, the newest release that it can get."),
            Reason::Update => format!("{settled} is the newest release that the device can get."),
            Reason::InRollout => {
                format!("The rollout of {staged} to {percent}% of devices includes this device, which is in bucket {bucket}.")
            }
            Reason::RolloutHeldBack => {
                format!(
                    "The rollout of {staged} to {percent}% of devices does not include this device, which is in bucket {bucket}: {instead}."
                )
            }
            Reason::NoClientId => {
                format!(
                    "The check has no client ID, so the rollout of {staged} to {percent}% of devices does not include the device: {instead}."
                )
            }
        }
    }

    /// Whether the release targets the device's app version, or the device accepts any.
    fn is_for_device(&self, release: &Release) -> bool {
        let version = self.request.app_version.version();
        self.request.is_companion || self.snapshot.range(release).is_some_and(|range| range.satisfies(version))
    }

    fn of_release(&self, release: &Release, verdict: Verdict) -> String {
        match verdict {
            Verdict::Chosen if matches!(self.decision.outcome, Outcome::Update { is_mandatory: true, .. }) => {
                "The device gets it, as a mandatory update.".to_owned()
            }
            Verdict::Chosen => "The device gets it.".to_owned(),
            Verdict::Disabled => "It is disabled.".to_owned(),
            Verdict::Version => {
                let range = self.snapshot.range(release).map_or("", Range::text);
                format!("It is for app version {range}, and the device has {}.", self.request.app_version.sent())
            }
            Verdict::Rollout => self.of_rollout(release),
            Verdict::SameContents => "The device already runs its package.".to_owned(),
            Verdict::Older => match self.decision.outcome {
                Outcome::Update { .. } => format!("The device gets {}, which is newer.", label(self.settled)),
                Outcome::NoUpdate { .. } => format!("The device already runs the package of {}, which is newer.", label(self.settled)),
            },
        }
    }

    /// Why a rollout does not include the device. The device skips every unfinished rollout if the newest one does not include it.
    fn of_rollout(&self, release: &Release) -> String {
        let percent = release.rollout.unwrap_or_default();
        let why = match (self.bucket, self.staged) {
            (None, _) => "The check has no client ID, so no rollout includes the device.".to_owned(),
            (Some(bucket), Some(staged)) if staged.label == release.label => {
                format!("It includes buckets below {percent}, and the device is in bucket {bucket}.")
            }
            _ => format!("The rollout of {} does not include the device, which then skips all unfinished rollouts.", label(self.staged)),
        };
        format!("It is rolled out to {percent}% of devices. {why}")
    }
}

/// The label of a release; empty without one.
fn label(release: Option<&Release>) -> String {
    release.map(|release| release.label.to_string()).unwrap_or_default()
}
