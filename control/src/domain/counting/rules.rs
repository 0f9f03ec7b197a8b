//! The rules of counting without a database: what a client's row and the counters become when reports arrive.
//!
//! The counters are a function of the set of reports. A client's place follows its newest success or binary report, which a maximum over
//! (time of receipt, report id) finds in any order; a flag of a label is set once, whenever its report arrives. Both absorb repetition.

use std::collections::BTreeMap;

use shared::ids::{DeploymentId, ReportId};
use shared::keys::Label;
use shared::time::UnixMillis;

use super::flags::{Flag, Flags};

/// The counter of binary versions beyond the limit, and of those that look like a label.
pub const OTHER: &str = "other";

/// The counting epoch of each deployment that exists; a deployment that is missing here is gone.
pub type Epochs = BTreeMap<DeploymentId, i64>;

/// Orders reports: by time of receipt, reports of the same millisecond by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// When the report came in.
    pub received: UnixMillis,
    /// Its id.
    pub report: ReportId,
}

/// One counter row: where a client can be. The order is the one in which rows are locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The deployment.
    pub deployment: DeploymentId,
    /// Its counting epoch; a row of an older one counts as absent.
    pub epoch: i64,
    /// A label, a binary version or [`OTHER`]: the counter's real name, so that leaving lowers the counter that entering raised.
    pub bucket: String,
}

/// What a report says of the client that sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It runs the store binary that is counted in this bucket.
    Binary {
        /// The binary version, or [`OTHER`].
        bucket: String,
        /// The binary version, where it is counted as [`OTHER`] for want of a place.
        waiting: Option<String>,
    },
    /// It has loaded, run or left the release. Running one makes it the client's place; a client that left one is where it was before.
    Release {
        /// The release.
        label: Label,
        /// What happened.
        flag: Flag,
    },
}

impl Event {
    /// The bucket that the client is in from now on; none when it stays where it is.
    fn bucket(&self) -> Option<String> {
        match self {
            Self::Binary { bucket, .. } => Some(bucket.clone()),
            Self::Release { label, flag: Flag::Installed } => Some(label.to_string()),
            Self::Release { .. } => None,
        }
    }

    /// The binary version that waits for a place of its own.
    fn waiting(&self) -> Option<String> {
        match self {
            Self::Binary { waiting, .. } => waiting.clone(),
            Self::Release { .. } => None,
        }
    }
}

/// A report of a known client on an existing deployment and, unless it is about a binary, an existing release.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Its place in the order of reports.
    pub stamp: Stamp,
    /// The deployment.
    pub deployment: DeploymentId,
    /// The deployment's current epoch.
    pub epoch: i64,
    /// What it says.
    pub event: Event,
}

/// What is stored of one client of one app.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Where it is; none before its first success or binary report.
    pub place: Option<Place>,
    /// Its binary version, where it is counted as [`OTHER`] for want of a place: should the version get one, the client goes there.
    pub waiting: Option<String>,
    /// The report that put it there. It stays in force when the place's deployment is cleared or deleted: an older report that is
    /// delivered again after that must not move the client back.
    pub newest: Option<Stamp>,
    /// What it has reported of which label.
    pub flags: Flags,
}

impl Client {
    /// Takes in reports in any order and adds to `changes` what they do to the counters. `epochs` names every deployment of the
    /// reports, of the place and of the flags that still exists. Gives whether the row changed.
    pub fn count(&mut self, sightings: &[Sighting], epochs: &Epochs, changes: &mut Changes) -> bool {
        let mut altered = false;
        for sighting in sightings {
            if let Event::Release { label, flag } = &sighting.event
                && self.flags.raise(&sighting.deployment, sighting.epoch, *label, *flag)
            {
                changes.at(&sighting.deployment, sighting.epoch, label.to_string()).raise(*flag);
                altered = true;
            }
        }
        let moves = sightings.iter().filter_map(|sighting| Some((&sighting.stamp, sighting, sighting.event.bucket()?)));
        if let Some((stamp, sighting, bucket)) = moves.max_by(|left, right| left.0.cmp(right.0))
            && self.newest.as_ref().is_none_or(|newest| newest < stamp)
        {
            self.move_to(Place { deployment: sighting.deployment.clone(), epoch: sighting.epoch, bucket }, epochs, changes);
            self.waiting = sighting.event.waiting();
            self.newest = Some(stamp.clone());
            altered = true;
        }
        if altered {
            self.flags.prune(epochs);
        }
        altered
    }

    /// Counts the client, if it is in this place of a binary version, among the others, since the version loses its place. Gives whether it was there.
    pub fn give_up(&mut self, place: &Place, changes: &mut Changes) -> bool {
        if self.place.as_ref() != Some(place) {
            return false;
        }
        let others = Place { bucket: OTHER.to_owned(), ..place.clone() };
        self.waiting = Some(place.bucket.clone());
        self.shift(others, changes);
        true
    }

    /// Counts the client, if it is among the others with the binary version of this place, there: the version has it now. Gives whether it was one of them.
    pub fn take_up(&mut self, place: &Place, changes: &mut Changes) -> bool {
        let is_other = |own: &Place| own.bucket == OTHER && own.deployment == place.deployment && own.epoch == place.epoch;
        if self.waiting.as_ref() != Some(&place.bucket) || !self.place.as_ref().is_some_and(is_other) {
            return false;
        }
        self.waiting = None;
        self.shift(place.clone(), changes);
        true
    }

    /// To another place of the same deployment and epoch.
    fn shift(&mut self, place: Place, changes: &mut Changes) {
        if let Some(old) = self.place.replace(place.clone()) {
            changes.0.entry(old).or_default().active -= 1;
        }
        changes.0.entry(place).or_default().active += 1;
    }

    /// −1 where it was, unless that was cleared or deleted since, and +1 where it is.
    fn move_to(&mut self, place: Place, epochs: &Epochs, changes: &mut Changes) {
        if let Some(old) = self.place.take().filter(|old| epochs.get(&old.deployment) == Some(&old.epoch)) {
            changes.0.entry(old).or_default().active -= 1;
        }
        changes.0.entry(place.clone()).or_default().active += 1;
        self.place = Some(place);
    }
}

/// What is added to one counter row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Clients whose place it is.
    pub active: i64,
    /// Clients, and reports without client, that have loaded the release.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have fallen back from it.
    pub failed: i64,
}

impl Change {
    /// Counts one more of what the flag says.
    pub fn raise(&mut self, flag: Flag) {
        match flag {
            Flag::Downloaded => self.downloaded += 1,
            Flag::Installed => self.installed += 1,
            Flag::Failed => self.failed += 1,
        }
    }
}

/// What one batch adds to the counters, in the order in which their rows are locked.
#[derive(Clone, Debug, Default)]
pub struct Changes(pub BTreeMap<Place, Change>);

impl Changes {
    /// The change of one counter, zero at first.
    pub fn at(&mut self, deployment: &DeploymentId, epoch: i64, bucket: String) -> &mut Change {
        self.0.entry(Place { deployment: deployment.clone(), epoch, bucket }).or_default()
    }
}
