//! The rules of counting without a database: how reports change a device's row and the counters.
//!
//! The counters are a function of the set of reports. A device's place follows its newest success or binary report: the maximum of (time of receipt, report
//! ID), in whatever order they arrive. Each flag of a label is set once. So repeated and reordered reports change nothing.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use shared::ids::{DeploymentId, ReportId};
use shared::keys::Label;
use shared::time::UnixMillis;

use super::flags::{Flag, Flags};

/// The counter of binary versions beyond the limit, and of those that look like a label.
pub const OTHER: &str = "other";

/// The counting epoch of each existing deployment; a missing deployment was deleted.
pub type Epochs = BTreeMap<DeploymentId, i64>;

/// Orders reports by time of receipt; reports of the same millisecond by ID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// When the report arrived.
    pub received: UnixMillis,
    /// Its ID.
    pub report: ReportId,
}

/// One counter row: where a device can be. Rows are locked in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The deployment.
    pub deployment: DeploymentId,
    /// Its counting epoch; a row of an older epoch counts as absent.
    pub epoch: i64,
    /// A label, a binary version or [`OTHER`]: the actual counter, so that leaving lowers the same counter that entering raised.
    pub bucket: String,
}

/// What a report says about its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It runs the app store build that is counted in this bucket.
    Binary {
        /// The binary version, or [`OTHER`].
        bucket: String,
        /// The binary version, if it is counted as [`OTHER`] for lack of a counter of its own.
        waiting: Option<String>,
    },
    /// It has downloaded, run or rolled back from the release. Running it makes it the device's place; after a rollback the device stays where it was.
    Release {
        /// The release.
        label: Label,
        /// What happened.
        flag: Flag,
    },
}

impl Event {
    /// The device's new bucket; none if it does not move.
    fn bucket(&self) -> Option<String> {
        match self {
            Self::Binary { bucket, .. } => Some(bucket.clone()),
            Self::Release { label, flag: Flag::Installed } => Some(label.to_string()),
            Self::Release { .. } => None,
        }
    }

    /// The binary version that waits for its own counter.
    fn waiting(&self) -> Option<String> {
        match self {
            Self::Binary { waiting, .. } => waiting.clone(),
            Self::Release { .. } => None,
        }
    }
}

/// A report with a client ID, about an existing deployment and, unless it is about a binary, an existing release.
#[derive(Clone, Debug)]
pub struct ClientReport {
    /// Its place in the order of reports.
    pub stamp: Stamp,
    /// The deployment.
    pub deployment: DeploymentId,
    /// The deployment's current epoch.
    pub epoch: i64,
    /// What it reports.
    pub event: Event,
}

/// What is stored about one device of one app.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its current place; none before its first success or binary report.
    pub place: Option<Place>,
    /// Its binary version, if that is counted as [`OTHER`] for lack of its own counter. If the version gets one, the device moves there.
    pub waiting: Option<String>,
    /// The report that set the place. It stays when the place's deployment is cleared or deleted, so that an older report delivered again must not move the
    /// device back.
    pub newest: Option<Stamp>,
    /// What it has reported about each label.
    pub flags: Flags,
}

impl Client {
    /// Applies reports in any order, and adds their effect on the counters to `changes`. `epochs` contains every existing deployment of the reports, the
    /// place and the flags. Returns whether the row changed.
    pub fn count(&mut self, reports: &[ClientReport], epochs: &Epochs, changes: &mut Changes) -> bool {
        let mut altered = false;
        for report in reports {
            if let Event::Release { label, flag } = &report.event
                && self.flags.raise(&report.deployment, report.epoch, *label, *flag)
            {
                let place = Place { deployment: report.deployment.clone(), epoch: report.epoch, bucket: label.to_string() };
                if *flag == Flag::Downloaded
                    && let Some(source) = self.label_in(report).filter(|source| source != label)
                {
                    changes.update(place.clone(), source);
                }
                changes.add(place, report.stamp.received, Change::of(*flag));
                altered = true;
            }
        }
        let moves = reports.iter().filter_map(|report| Some((&report.stamp, report, report.event.bucket()?)));
        if let Some((stamp, report, bucket)) = moves.max_by(|left, right| left.0.cmp(right.0))
            && self.newest.as_ref().is_none_or(|newest| newest < stamp)
        {
            let place = Place { deployment: report.deployment.clone(), epoch: report.epoch, bucket };
            self.move_to(place, stamp.received, epochs, changes);
            self.waiting = report.event.waiting();
            self.newest = Some(stamp.clone());
            altered = true;
        }
        if altered {
            self.flags.prune(epochs);
        }
        altered
    }

    /// Moves the device from this binary version's place to [`OTHER`], because the version loses its counter now. Returns whether it was there.
    pub fn lose_place(&mut self, place: &Place, now: UnixMillis, changes: &mut Changes) -> bool {
        if self.place.as_ref() != Some(place) {
            return false;
        }
        let others = Place { bucket: OTHER.to_owned(), ..place.clone() };
        self.waiting = Some(place.bucket.clone());
        self.shift(others, now, changes);
        true
    }

    /// Moves the device from [`OTHER`] to this place, if it waits for it: its binary version now has a counter. Returns whether it was waiting.
    pub fn gain_place(&mut self, place: &Place, now: UnixMillis, changes: &mut Changes) -> bool {
        let is_other = |own: &Place| own.bucket == OTHER && own.deployment == place.deployment && own.epoch == place.epoch;
        if self.waiting.as_ref() != Some(&place.bucket) || !self.place.as_ref().is_some_and(is_other) {
            return false;
        }
        self.waiting = None;
        self.shift(place.clone(), now, changes);
        true
    }

    /// Moves it to another place of the same deployment and epoch.
    fn shift(&mut self, place: Place, now: UnixMillis, changes: &mut Changes) {
        if let Some(old) = self.place.replace(place.clone()) {
            changes.add(old, now, Change::active(-1));
        }
        changes.add(place, now, Change::active(1));
    }

    /// The release of the report's deployment that the device runs, as its row says.
    fn label_in(&self, report: &ClientReport) -> Option<Label> {
        let place = self.place.as_ref().filter(|place| place.deployment == report.deployment && place.epoch == report.epoch)?;
        Label::try_from(place.bucket.as_str()).ok()
    }

    /// −1 for the old place, unless that was cleared or deleted since; +1 for the new place.
    fn move_to(&mut self, place: Place, received: UnixMillis, epochs: &Epochs, changes: &mut Changes) {
        if let Some(old) = self.place.take().filter(|old| epochs.get(&old.deployment) == Some(&old.epoch)) {
            changes.add(old, received, Change::active(-1));
        }
        changes.add(place.clone(), received, Change::active(1));
        self.place = Some(place);
    }
}

/// What is added to one counter row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Devices whose place it is.
    pub active: i64,
    /// Devices that have downloaded the release, plus reports without a client ID.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have rolled back from it.
    pub failed: i64,
}

impl Change {
    /// One more device has this flag.
    pub fn of(flag: Flag) -> Self {
        match flag {
            Flag::Downloaded => Self { downloaded: 1, ..Self::default() },
            Flag::Installed => Self { installed: 1, ..Self::default() },
            Flag::Failed => Self { failed: 1, ..Self::default() },
        }
    }

    /// This many more devices are there.
    pub fn active(devices: i64) -> Self {
        Self { active: devices, ..Self::default() }
    }
}

impl AddAssign for Change {
    fn add_assign(&mut self, other: Self) {
        self.active += other.active;
        self.downloaded += other.downloaded;
        self.installed += other.installed;
        self.failed += other.failed;
    }
}

/// The increments of one counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Increments {
    /// All of them.
    pub total: Change,
    /// The same by the minute in which the reports were received.
    pub by_minute: BTreeMap<UnixMillis, Change>,
    /// By the release that they ran: devices that have downloaded this one.
    pub updated_from: BTreeMap<Label, i64>,
    /// What diffs have saved these devices, an estimate in bytes ([`super::saved`]).
    pub bytes_saved: i64,
}

/// The increments of one batch, in the order in which the counters are locked.
#[derive(Clone, Debug, Default)]
pub struct Changes(pub BTreeMap<Place, Increments>);

impl Changes {
    /// Adds to a counter, because of a report that was received at this time.
    pub fn add(&mut self, place: Place, received: UnixMillis, change: Change) {
        let increments = self.0.entry(place).or_default();
        increments.total += change;
        *increments.by_minute.entry(received.minute()).or_default() += change;
    }

    /// A device that runs another release has downloaded this one.
    pub fn update(&mut self, place: Place, source: Label) {
        *self.0.entry(place).or_default().updated_from.entry(source).or_default() += 1;
    }

    /// Diffs have saved this many bytes of the downloads of an existing counter.
    pub fn save(&mut self, place: &Place, bytes: i64) {
        if let Some(increments) = self.0.get_mut(place) {
            increments.bytes_saved = increments.bytes_saved.saturating_add(bytes);
        }
    }

    /// Lets the counter exist, even if nothing is added to it.
    pub fn touch(&mut self, place: Place) {
        self.0.entry(place).or_default();
    }
}
