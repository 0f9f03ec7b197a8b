//! The table of days: what each day added, per release.

use shared::api::history::{Day, DayCounts};
use shared::keys::Label;

use super::super::figures;
use crate::output::table::Table;

/// What to say if there are no days.
pub(super) const NO_HISTORY: &str = "There is no history yet. A deployment's first day appears within an hour of its first release.";

/// The rows of days: oldest day first, within a day the newest release first.
pub(super) fn ordered(days: &[Day]) -> impl Iterator<Item = (&str, &Label, &DayCounts)> {
    days.iter().flat_map(|day| {
        let mut labels: Vec<_> = day.labels.iter().collect();
        labels.sort_by_key(|(label, _)| std::cmp::Reverse(label.number()));
        labels.into_iter().map(|(label, counts)| (day.date.as_str(), label, counts))
    })
}

/// The table.
pub(super) fn table(days: &[Day]) -> Table {
    // A day adds nothing that is known if the day before is missing.
    let added = |delta: Option<i64>| match delta {
        None => "-".to_owned(),
        Some(delta) if delta > 0 => format!("+{}", figures::count(delta)),
        Some(delta) => figures::count(delta),
    };
    let mut table = Table::new(["date", "release", "active", "downloaded", "installed", "failed"])
        .right([2, 3, 4, 5])
        .when_empty(NO_HISTORY)
        .optional(["downloaded"]);
    for (date, label, counts) in ordered(days) {
        table.row([
            date.to_owned(),
            label.to_string(),
            figures::count(counts.active),
            added(counts.downloaded_delta),
            added(counts.installed_delta),
            added(counts.failed_delta),
        ]);
    }
    table
}
