//! The table of counts: releases, newest first, then binary versions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::api::history::{Day, MetricsHistoryAnswer};
use shared::api::metrics::Counts;
use shared::api::recent::RecentMetricsAnswer;
use shared::keys::Label;
use shared::time::UnixMillis;

use super::super::figures;
use crate::output::table::Table;

/// How many days the table's last column has.
pub(super) const TREND_DAYS: u16 = 14;
/// How many minutes it has with `--watch`, and how many of them a bar stands for.
pub(super) const HOUR_MINUTES: i64 = 60;
const HOUR_STEP: i64 = 5;

/// Counts of releases.
type Releases<'m> = Vec<(Label, &'m Counts)>;
/// Counts of binary versions.
type Binaries<'m> = Vec<(&'m str, &'m Counts)>;

/// The counts in the order of the table: releases, newest first, then binary versions, most used first.
pub(super) fn ordered(metrics: &BTreeMap<String, Counts>) -> (Releases<'_>, Binaries<'_>) {
    let (mut releases, mut binaries) = (Vec::new(), Vec::new());
    for (name, counts) in metrics {
        match Label::try_from(name.as_str()) {
            Ok(label) => releases.push((label, counts)),
            Err(_) => binaries.push((name.as_str(), counts)),
        }
    }
    releases.sort_by_key(|(label, _)| Reverse(label.number()));
    binaries.sort_by_key(|(_, counts)| Reverse(counts.active));
    (releases, binaries)
}

/// How many devices were active over time: the last column of the table.
pub(super) struct Trend {
    heading: &'static str,
    /// By release or binary version, oldest first.
    curves: BTreeMap<String, Vec<i64>>,
}

impl Trend {
    /// At the end of each day. Binary versions have no history.
    pub(super) fn of_days(metrics: &BTreeMap<String, Counts>, history: &MetricsHistoryAnswer) -> Self {
        let curve = |(label, _): (Label, _)| {
            let active = |day: &Day| day.labels.get(&label).map_or(0, |counts| counts.active);
            (label.to_string(), history.days.iter().map(active).collect())
        };
        Self { heading: "last 14 days", curves: ordered(metrics).0.into_iter().map(curve).collect() }
    }

    /// In the last hour: what is active now, less what was added since.
    pub(super) fn of_hour(metrics: &BTreeMap<String, Counts>, recent: &RecentMetricsAnswer) -> Self {
        let steps = HOUR_MINUTES / HOUR_STEP;
        let curve = |(name, counts): (&String, &Counts)| {
            let since = |end: UnixMillis| {
                let later = recent.points.iter().filter(|point| point.time >= end);
                later.filter_map(|point| point.labels.get(name)).map(|counts| counts.active).sum::<i64>()
            };
            let ends = (0..steps).rev().map(|before| recent.to.plus_millis(-before * HOUR_STEP * 60_000));
            (name.clone(), ends.map(|end| counts.active - since(end)).collect())
        };
        Self { heading: "last hour", curves: metrics.iter().map(curve).collect() }
    }
}

/// The table, with a column of small bars if there is a trend.
pub(super) fn table(metrics: &BTreeMap<String, Counts>, trend: Option<&Trend>) -> Table {
    let all = metrics.values().map(|counts| counts.active).sum();
    let mut header = vec!["release", "active", "share", "downloaded", "installed", "failed", "failed %"];
    header.extend(trend.map(|trend| trend.heading));
    let bars =
        |name: &str| trend.map(|trend| trend.curves.get(name).map_or_else(|| "binary".to_owned(), |curve| figures::sparkline(curve)));
    let mut table = Table::new(header).right([1, 2, 3, 4, 5, 6]).optional(["last 14 days", "last hour", "downloaded", "share", "failed"]);
    let (releases, binaries) = ordered(metrics);
    for (label, counts) in releases {
        let label = label.to_string();
        let mut row = vec![label.clone(), figures::count(counts.active), figures::share(counts.active, all)];
        row.extend([counts.downloaded, counts.installed, counts.failed].map(figures::count));
        row.push(figures::failure_rate(counts));
        row.extend(bars(&label));
        table.row(row);
    }
    for (version, counts) in binaries {
        let mut row = vec![version.to_owned(), figures::count(counts.active), figures::share(counts.active, all)];
        row.extend(std::iter::repeat_n("-".to_owned(), 4));
        row.extend(bars(version));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_come_first_and_newest_first() {
        let counts = |active| Counts { active, downloaded: 0, installed: 0, failed: 0 };
        let metrics =
            [("1.0.0", 1), ("v9", 1), ("v10", 1), ("2.0.0", 5), ("other", 3)].map(|(name, active)| (name.to_owned(), counts(active)));
        let metrics = BTreeMap::from(metrics);
        let (releases, binaries) = ordered(&metrics);
        assert_eq!(releases.iter().map(|(label, _)| label.to_string()).collect::<Vec<_>>(), ["v10", "v9"]);
        assert_eq!(binaries.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["2.0.0", "other", "1.0.0"]);
    }

    #[test]
    fn the_last_hour_ends_at_what_is_active_now() {
        let recent = r#"{"from": 0, "to": 3600000, "stepMinutes": 1, "points": [
            {"time": 0, "labels": {"v1": {"active": 4, "downloaded": 0, "installed": 0, "failed": 0}}},
            {"time": 3000000, "labels": {"v1": {"active": -1, "downloaded": 0, "installed": 0, "failed": 0}}},
            {"time": 3540000, "labels": {"v1": {"active": 7, "downloaded": 0, "installed": 0, "failed": 0}}}]}"#;
        let metrics = BTreeMap::from([("v1".to_owned(), Counts { active: 12, downloaded: 0, installed: 0, failed: 0 })]);
        let trend = Trend::of_hour(&metrics, &serde_json::from_str(recent).unwrap());
        assert_eq!(trend.curves["v1"], [6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5, 12]);
    }
}
