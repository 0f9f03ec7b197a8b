//! A reference model of the daily history: it stores every event with the day it was counted, and recalculates a day's values from all events until
//! its end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use shared::time::UtcDay;

use crate::v1::apps::deployments::metrics::values;

/// A device report, with or without a client ID.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// The device; `None` for reports without a client ID.
    pub(crate) device: Option<String>,
    /// downloaded, installed, failed or binary.
    pub(crate) what: &'static str,
    /// The label, or the binary version.
    pub(crate) place: String,
    /// Time of receipt, which orders the moves of a device.
    pub(crate) received: i64,
}

/// Counts by label: active, downloaded, installed, failed.
type Counts = BTreeMap<String, [i64; 4]>;

/// One deployment since its history was last cleared.
#[derive(Debug, Default)]
pub(crate) struct Model {
    releases: BTreeSet<String>,
    /// With the day on which they were counted.
    events: Vec<(UtcDay, Event)>,
    /// The days on which the job ran, each with the values of its last round.
    seen: BTreeMap<UtcDay, Counts>,
    /// Each device's newest report before the history was cleared: older ones no longer move it.
    moved: BTreeMap<String, i64>,
}

impl Model {
    pub(crate) fn release(&mut self, label: &str) {
        self.releases.insert(label.to_owned());
    }

    pub(crate) fn report(&mut self, day: UtcDay, event: Event) {
        self.events.push((day, event));
    }

    /// The job ran.
    pub(crate) fn run(&mut self, day: UtcDay) {
        let now = self.counts(day);
        if !self.releases.is_empty() {
            self.seen.insert(day, now);
        }
    }

    pub(crate) fn clear(&mut self) {
        let mut moved = std::mem::take(&mut self.moved);
        for (_, event) in &self.events {
            if let (Some(device), true) = (&event.device, self.moves(event)) {
                let newest = moved.entry(device.clone()).or_insert(event.received);
                *newest = event.received.max(*newest);
            }
        }
        *self = Self { moved, ..Self::default() };
    }

    pub(crate) fn starts(&self) -> Option<UtcDay> {
        self.seen.keys().next().copied()
    }

    pub(crate) fn days(&self) -> impl Iterator<Item = UtcDay> {
        self.seen.keys().copied()
    }

    fn moves(&self, event: &Event) -> bool {
        event.what == "binary" || (event.what == "installed" && self.releases.contains(&event.place))
    }

    /// The counts of all events until the end of a day. Releases are never deleted, so their existence is known at the end.
    fn counts(&self, until: UtcDay) -> Counts {
        let (mut counts, mut places, mut flags) = (Counts::new(), BTreeMap::new(), BTreeSet::new());
        let mut newest = self.moved.clone();
        for (_, event) in self.events.iter().filter(|(day, _)| *day <= until) {
            let is_known = self.releases.contains(&event.place);
            if let Some(index) = ["downloaded", "installed", "failed"].iter().position(|what| *what == event.what)
                && is_known
            {
                let is_new = event.device.as_ref().is_none_or(|device| flags.insert((device, index, &event.place)));
                counts.entry(event.place.clone()).or_default()[index + 1] += i64::from(is_new);
            }
            if let Some(device) = &event.device
                && self.moves(event)
                && newest.get(device).is_none_or(|newest| *newest < event.received)
            {
                newest.insert(device.clone(), event.received);
                places.insert(device, &event.place);
                if is_known {
                    // A label without devices keeps its counter.
                    counts.entry(event.place.clone()).or_default();
                }
            }
        }
        for place in places.into_values().filter(|place| self.releases.contains(*place)) {
            counts.get_mut(place).unwrap()[0] += 1;
        }
        counts
    }

    /// The values of a day's entry: the newest has those of the job's last round, the others their final ones.
    fn end(&self, day: UtcDay) -> Option<Counts> {
        let seen = self.seen.get(&day)?;
        let is_open = self.seen.keys().next_back() == Some(&day);
        Some(if is_open { seen.clone() } else { self.counts(day) })
    }

    /// The complete response for a range within the bounds.
    pub(crate) fn answer(&self, from: UtcDay, to: UtcDay) -> Value {
        let days: Vec<Value> = (from.0..=to.0)
            .map(UtcDay)
            .filter_map(|day| {
                let (now, before) = (self.end(day)?, self.end(day.plus_days(-1)));
                let labels: Map<String, Value> = now
                    .into_iter()
                    .map(|(label, now)| {
                        let before = before.as_ref().map(|counts| counts.get(&label).copied().unwrap_or_default());
                        let deltas = before.map(|before| [now[1] - before[1], now[2] - before[2], now[3] - before[3]]);
                        (label, values(now, deltas))
                    })
                    .collect();
                Some(json!({ "date": day.to_string(), "labels": labels }))
            })
            .collect();
        let starts = self.starts().map(|day| day.to_string());
        json!({ "from": from.to_string(), "to": to.to_string(), "historyStartsAt": starts, "days": days })
    }
}
