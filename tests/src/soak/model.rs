//! The expected counters, calculated from the set of events regardless of the order and number of deliveries.
//!
//! Only the choice of named binary versions depends on the order if there are too many. The model accepts the given names; their number and their
//! counts are calculated.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::events::{Deployment, Event, EventKind, Events, RELEASES};
use crate::reports::Counts;

const OTHER: &str = "other";

/// A device of an app, and its newest event: by time, then ID. Direct reports come after all events received by the edge, in their order.
type Newest<'e> = HashMap<(usize, &'e str), ((u8, i64, &'e str), &'e Event)>;

/// Compares the actual counters with the expected ones, by deployment. Returns descriptions of all differences.
pub fn differences(deployments: &[Deployment], events: &Events, most_names: usize, counted: &[Counts]) -> Vec<String> {
    let mut faults = Vec::new();
    let names: Vec<BTreeSet<&str>> =
        counted.iter().map(|counts| counts.keys().map(String::as_str).filter(|name| is_plain(name)).collect()).collect();
    for ((place, deployment), names) in deployments.iter().enumerate().zip(&names) {
        let seen = versions(events, place);
        let expected = seen.len().min(most_names);
        if names.len() != expected || !names.is_subset(&seen) {
            faults.push(format!("{}: {} binary versions have names instead of {expected}", deployment.name, names.len()));
        }
    }
    for ((deployment, expected), counted) in deployments.iter().zip(expected(deployments.len(), events, deployments, &names)).zip(counted) {
        let places: BTreeSet<&String> = expected.keys().chain(counted.keys()).collect();
        for place in places {
            let (expected, counted) = (expected.get(place), counted.get(place));
            if expected != counted {
                faults.push(format!(
                    "app {}, {}, {place}: {} instead of {}",
                    deployment.app,
                    deployment.name,
                    counted.map_or("nothing".to_owned(), |counts| format!("{counts:?}")),
                    expected.map_or("nothing".to_owned(), |counts| format!("{counts:?}")),
                ));
            }
        }
    }
    faults
}

fn expected(deployments: usize, events: &Events, list: &[Deployment], names: &[BTreeSet<&str>]) -> Vec<Counts> {
    let mut counts = vec![Counts::new(); deployments];
    let mut once: HashSet<(usize, &str, &str, EventKind)> = HashSet::new();
    let mut ids: HashSet<&str> = HashSet::new();
    let mut newest = Newest::new();
    let stamped = events.stamped.iter().map(|stamped| ((0, stamped.received, stamped.id.as_str()), &stamped.event));
    let direct = events.direct.iter().flat_map(|reports| (0..).zip(reports).map(|(number, event)| ((1, number, ""), event)));
    for (stamp, event) in stamped.chain(direct) {
        let Some(deployment) = event.deployment.filter(|_| event.kind == EventKind::Binary || has_release(&event.place)) else { continue };
        let Some(client) = &event.client else {
            if event.kind != EventKind::Binary && ids.insert(stamp.2) {
                raise(&mut counts[deployment], event);
            }
            continue;
        };
        match event.kind {
            // Its row exists once any device has reported it.
            EventKind::Binary => {
                counts[deployment].entry(bucket(event, &names[deployment])).or_default();
            }
            kind => {
                if once.insert((deployment, client, &event.place, kind)) {
                    raise(&mut counts[deployment], event);
                }
            }
        }
        if matches!(event.kind, EventKind::Binary | EventKind::Installed) {
            let place = newest.entry((list[deployment].app, client)).or_insert((stamp, event));
            if stamp > place.0 {
                *place = (stamp, event);
            }
        }
    }
    for (_, event) in newest.into_values() {
        let deployment = event.deployment.unwrap();
        counts[deployment].entry(bucket(event, &names[deployment])).or_default()[0] += 1;
    }
    counts
}

fn raise(counts: &mut Counts, event: &Event) {
    let column = match event.kind {
        EventKind::Binary => return,
        EventKind::Downloaded => 1,
        EventKind::Installed => 2,
        EventKind::Failed => 3,
    };
    counts.entry(event.place.clone()).or_default()[column] += 1;
}

/// The counter for the event's place.
fn bucket(event: &Event, names: &BTreeSet<&str>) -> String {
    let is_named = event.kind != EventKind::Binary || names.contains(event.place.as_str());
    if is_named { event.place.clone() } else { OTHER.to_owned() }
}

/// The binary versions reported for a deployment by devices with IDs that could be named.
fn versions(events: &Events, deployment: usize) -> BTreeSet<&str> {
    let all = events.stamped.iter().map(|stamped| &stamped.event).chain(events.direct.iter().flatten());
    let of = all.filter(|event| event.deployment == Some(deployment) && event.kind == EventKind::Binary && event.client.is_some());
    of.map(|event| event.place.as_str()).filter(|name| is_plain(name)).collect()
}

/// The counts with all binary versions combined: which of them are named changes at startup and every hour.
pub fn without_names(counted: &[Counts]) -> Vec<Counts> {
    let merged = |counts: &Counts| {
        let mut merged = Counts::new();
        for (place, counts) in counts {
            let place = if is_plain(place) { OTHER } else { place };
            let sums = merged.entry(place.to_owned()).or_insert([0; 4]);
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        merged
    };
    counted.iter().map(merged).collect()
}

/// Whether a name is neither a label nor `other`.
pub fn is_plain(name: &str) -> bool {
    let digits = name.strip_prefix('v').unwrap_or_default();
    let is_label = !digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    name != OTHER && !is_label
}

fn has_release(label: &str) -> bool {
    label.strip_prefix('v').and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| (1..=RELEASES).contains(&number))
}

/// The number of counters of each kind, for the summary.
pub fn summary(counted: &[Counts]) -> BTreeMap<&'static str, i64> {
    let mut summary = BTreeMap::new();
    for counts in counted {
        *summary.entry("counters").or_default() += i64::try_from(counts.len()).unwrap();
        for numbers in counts.values() {
            for (name, number) in ["active", "downloaded", "installed", "failed"].into_iter().zip(numbers) {
                *summary.entry(name).or_default() += number;
            }
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::events::Stamped;

    fn stamped(received: i64, id: &str, client: Option<&str>, kind: EventKind, place: &str) -> Stamped {
        let event = Event { deployment: Some(0), key: "key".to_owned(), client: client.map(str::to_owned), kind, place: place.to_owned() };
        Stamped { received, id: id.to_owned(), event }
    }

    #[test]
    fn a_small_set_gives_the_counters_calculated_by_hand() {
        let deployments = [Deployment { app: 0, name: "Production", key: "key".to_owned() }];
        let events = Events {
            stamped: vec![
                stamped(1, "a", Some("one"), EventKind::Binary, "1.0"),
                stamped(2, "b", Some("one"), EventKind::Installed, "v1"),
                stamped(2, "a", Some("one"), EventKind::Binary, "2.0"),
                stamped(3, "c", Some("one"), EventKind::Installed, "v99"),
                stamped(1, "d", Some("two"), EventKind::Binary, "2.0"),
                stamped(1, "e", Some("two"), EventKind::Downloaded, "v1"),
                stamped(2, "f", Some("two"), EventKind::Downloaded, "v1"),
                stamped(2, "g", None, EventKind::Downloaded, "v1"),
                stamped(2, "h", None, EventKind::Binary, "3.0"),
                stamped(2, "i", Some("three"), EventKind::Binary, "v1"),
            ],
            direct: vec![vec![Event {
                deployment: Some(0),
                key: "key".to_owned(),
                client: Some("two".to_owned()),
                kind: EventKind::Failed,
                place: "v2".to_owned(),
            }]],
        };
        let counted = crate::reports::counts([("1.0", [0, 0, 0, 0]), ("other", [2, 0, 0, 0]), ("v1", [1, 2, 1, 0]), ("v2", [0, 0, 0, 1])]);
        assert_eq!(differences(&deployments, &events, 1, std::slice::from_ref(&counted)), Vec::<String>::new());
        // Every number that is off by one is detected, and so is an additional or missing row.
        for place in counted.keys() {
            for column in 0..4 {
                let mut wrong = counted.clone();
                wrong.get_mut(place).unwrap()[column] += 1;
                assert_eq!(differences(&deployments, &events, 1, &[wrong]).len(), 1, "{place}, {column}");
            }
            let mut wrong = counted.clone();
            wrong.remove(place);
            assert!(!differences(&deployments, &events, 1, &[wrong]).is_empty(), "{place}");
        }
        let mut wrong = counted;
        wrong.insert("v3".to_owned(), [0; 4]);
        assert_eq!(differences(&deployments, &events, 1, &[wrong]).len(), 1);
    }
}
