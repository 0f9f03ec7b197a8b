//! What a day's row holds, and what it is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::keys::Label;
use shared::time::UtcDay;

/// The counts of one label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[i64; 4]", into = "[i64; 4]")]
pub struct Values {
    /// Clients that run it.
    pub active: i64,
    /// Clients, and reports without client, that have loaded it.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have fallen back from it.
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

/// The counter of one label, with what it knows of the past.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The label.
    pub label: Label,
    /// Its counts now.
    pub now: Values,
    /// The day of its first change; before that it was not there.
    pub first_day: UtcDay,
    /// The day of its last change.
    pub day: UtcDay,
    /// The day whose end may still be asked for.
    pub open_day: UtcDay,
    /// Its counts at the end of `open_day`, if `day` is after that.
    pub before: Values,
}

impl Counter {
    /// Its counts at the end of a day, which is its open day; none when it was not there yet.
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
    /// What the counters were at the end of a day that was open until now.
    pub fn at(day: UtcDay, counters: &[Counter]) -> Self {
        Self(counters.iter().filter_map(|counter| Some((counter.label, counter.at(day)?))).collect())
    }
}
