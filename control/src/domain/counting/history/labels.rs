//! The contents of a day's row, and how they are derived from the counters.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::keys::Label;
use shared::time::UtcDay;

use crate::domain::counting::rules::OTHER;

/// How many binary versions a day names: versions are what devices say they are, and a day stays for a year.
const MAX_BINARIES: usize = 50;

/// The counts of one label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[i64; 4]", into = "[i64; 4]")]
pub struct Values {
    /// Devices that run it.
    pub active: i64,
    /// Devices that have downloaded it, plus reports without a client ID.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have rolled back from it.
    pub failed: i64,
}

impl From<[i64; 4]> for Values {
    fn from([active, downloaded, installed, failed]: [i64; 4]) -> Self {
        Self { active, downloaded, installed, failed }
    }
}

impl From<Values> for [i64; 4] {
    fn from(values: Values) -> Self {
        [values.active, values.downloaded, values.installed, values.failed]
    }
}

/// One day's counts by label: `{"v1":[active,downloaded,installed,failed]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<Label, Values>);

/// One day's active devices by binary version: `{"1.2.0":5}`. Devices with versions that are not named are under `other`. A version without devices is
/// missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binaries(pub BTreeMap<String, i64>);

/// A counter, with the values it keeps for the history.
#[derive(Clone, Debug)]
pub struct Counter {
    /// A label, a binary version or `other`.
    pub place: String,
    /// Its current values.
    pub now: Values,
    /// The day of its first change; before that it did not exist.
    pub first_day: UtcDay,
    /// The day of its last change.
    pub day: UtcDay,
    /// The open day, whose final values may still be needed.
    pub open_day: UtcDay,
    /// Its values at the end of `open_day`, if `day` is later.
    pub before: Values,
}

impl Counter {
    /// The label; none for a binary version.
    fn label(&self) -> Option<Label> {
        Label::try_from(self.place.as_str()).ok()
    }

    /// Its values at the end of a day, which must be its open day; none when it did not exist yet.
    fn at(&self, day: UtcDay) -> Option<Values> {
        if day < self.first_day {
            None
        } else if self.day <= day {
            Some(self.now)
        } else {
            Some(self.before)
        }
    }
}

impl Labels {
    /// The values of the counters at the end of a day that was open until now.
    pub fn at(day: UtcDay, counters: &[Counter]) -> Self {
        Self(counters.iter().filter_map(|counter| Some((counter.label()?, counter.at(day)?))).collect())
    }
}

impl Binaries {
    /// The active devices of the binary versions' counters at the end of a day that was open until now.
    pub fn at(day: UtcDay, counters: &[Counter]) -> Self {
        let binaries = counters.iter().filter(|counter| counter.label().is_none());
        let active = binaries.filter_map(|counter| Some((counter.place.as_str(), counter.at(day)?.active)));
        let (mut named, other): (Vec<_>, Vec<_>) = active.filter(|(_, active)| *active > 0).partition(|(place, _)| *place != OTHER);
        named.sort_unstable_by_key(|(version, active)| (Reverse(*active), *version));
        let unnamed = named.split_off(MAX_BINARIES.min(named.len()));
        let others: i64 = unnamed.iter().chain(&other).map(|(_, active)| active).sum();
        let others = (others > 0).then_some((OTHER, others));
        Self(named.into_iter().chain(others).map(|(version, active)| (version.to_owned(), active)).collect())
    }
}
