//! A model of the counters, computed from the set of reports only: no order, no batches, no rows.

use std::collections::{BTreeMap, BTreeSet};

use shared::keys::Label;
use shared::report::{Event, Report};

use crate::world::{KEYS, LABELS, app_of};

/// Active, downloaded, installed, failed.
pub(crate) type Counts = [i64; 4];

/// The counters by deployment key and label or binary version.
pub(crate) type Table = BTreeMap<(String, String), Counts>;

/// The counters of a set of reports; duplicates have no effect.
pub(crate) fn counters(reports: &[Report]) -> Table {
    let mut table = Table::new();
    let set: BTreeMap<_, _> = reports.iter().map(|report| (&report.id, report)).collect();
    let known = |report: &&&Report| {
        let released = match &report.report.event {
            Event::Binary { .. } => true,
            Event::Installed { label } | Event::Failed { label } | Event::Downloaded { label } => label.number() <= LABELS,
        };
        released && KEYS.contains(&report.report.deployment_key.as_str())
    };
    let reports: Vec<_> = set.values().filter(known).collect();
    let mut flags = BTreeSet::new();
    let mut places = BTreeMap::new();
    for report in reports {
        let key = report.report.deployment_key.as_str();
        let client = report.report.client_id.as_ref().map(|client| (app_of(key), client.clone()));
        let (bucket, column) = match &report.report.event {
            Event::Binary { app_version } if Label::try_from(app_version.as_str()).is_ok() => ("other".to_owned(), 0),
            Event::Binary { app_version } => (app_version.as_str().to_owned(), 0),
            Event::Downloaded { label } => (label.to_string(), 1),
            Event::Installed { label } => (label.to_string(), 2),
            Event::Failed { label } => (label.to_string(), 3),
        };
        let place = (key.to_owned(), bucket);
        // A report without a client counts as a separate client.
        let who = client.clone().map_or_else(|| report.id.to_string(), |(app, client)| format!("{app} {client}"));
        if column > 0 && flags.insert((who, place.clone(), column)) {
            table.entry(place.clone()).or_default()[column] += 1;
        }
        if let (Some(client), 0 | 2) = (client, column) {
            table.entry(place.clone()).or_default();
            let newest = places.entry(client).or_insert((report.received, &report.id, place.clone()));
            if (newest.0, newest.1) < (report.received, &report.id) {
                *newest = (report.received, &report.id, place);
            }
        }
    }
    for (_, _, place) in places.into_values() {
        table.entry(place).or_default()[0] += 1;
    }
    table
}
