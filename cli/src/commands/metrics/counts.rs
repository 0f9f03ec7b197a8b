//! The table of counts: releases, newest first, then binary versions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::api::history::MetricsHistoryAnswer;
use shared::api::metrics::Counts;
use shared::keys::Label;

use super::super::figures;
use crate::output::table::Table;

/// How many days the table's last column has.
pub(super) const TREND_DAYS: u16 = 14;

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

/// The table. With a history, it has a column of small bars.
pub(super) fn table(metrics: &BTreeMap<String, Counts>, trend: Option<&MetricsHistoryAnswer>) -> Table {
    let all = metrics.values().map(|counts| counts.active).sum();
    let mut header = vec!["release", "active", "share", "downloaded", "installed", "failed", "failed %"];
    if trend.is_some() {
        header.push("last 14 days");
    }
    let mut table = Table::new(header).right([1, 2, 3, 4, 5, 6]);
    let (releases, binaries) = ordered(metrics);
    for (label, counts) in releases {
        let mut row = vec![label.to_string(), figures::count(counts.active), figures::share(counts.active, all)];
        row.extend([counts.downloaded, counts.installed, counts.failed].map(figures::count));
        row.push(figures::failure_rate(counts));
        row.extend(trend.map(|history| figures::sparkline(&active(history, label))));
        table.row(row);
    }
    for (version, counts) in binaries {
        let mut row = vec![version.to_owned(), figures::count(counts.active), figures::share(counts.active, all)];
        row.extend(std::iter::repeat_n("-".to_owned(), 4));
        row.extend(trend.map(|_| "binary".to_owned()));
        table.row(row);
    }
    table
}

/// The devices that ran a release at the end of each day.
fn active(history: &MetricsHistoryAnswer, label: Label) -> Vec<i64> {
    history.days.iter().map(|day| day.labels.get(&label).map_or(0, |counts| counts.active)).collect()
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
}
