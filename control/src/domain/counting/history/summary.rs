//! A range of the history for charts: at most about a hundred days of it, however long it is, and the releases and binary versions that most devices ran.
//!
//! Counts are totals, so leaving days out loses nothing between them: what a step added is the difference of its ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::keys::Label;
use shared::time::UtcDay;

use super::days::DayRange;
use super::labels::{Labels, Values};
use super::repo::{self, Series, StoredDay};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::context::Context;
use crate::domain::counting::rules::OTHER;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};

/// The most days that are read.
const MAX_DAYS: i64 = 100;
/// How many releases, and how many binary versions, have a curve of their own; the others share one.
const MAX_CURVES: usize = 7;

/// A range of a deployment's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The first day of the range.
    pub from: UtcDay,
    /// The last day of the range.
    pub to: UtcDay,
    /// The days of a step.
    pub step: i64,
    /// The releases with a curve of their own, newest first.
    pub releases: Vec<Label>,
    /// Whether other releases share the last curve.
    pub has_others: bool,
    /// The binary versions with a curve of their own, most used first.
    pub binaries: Vec<String>,
    /// Whether other binary versions share the last curve.
    pub has_other_binaries: bool,
    /// The days with data, oldest first.
    pub days: Vec<SummaryDay>,
}

/// The counts at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryDay {
    /// The day.
    pub date: UtcDay,
    /// The active devices of each of the releases, and then those of all others.
    pub active: Vec<i64>,
    /// The active devices of each of the binary versions, and then those of all others; none if they were not stored.
    pub binaries: Option<Vec<i64>>,
    /// What the step that ends with this day added to downloads, installs and failures of all releases; none if its first day is missing.
    pub added: Option<[i64; 3]>,
}

/// Reads a range; by default the last 30 days. Errors: 404.
pub async fn read(app: &Context, grant: &AppGrant<ReadMetrics>, deployment: &str, asked: &DayRange) -> Result<Summary> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?;
    let retention = repo::retention_days(&mut tx, &deployment.id).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    let series = Series { deployment: deployment.id, epoch: deployment.counting_epoch };
    let starts = repo::newest(&mut tx, &series).await?.map(|newest| newest.first_day);
    let (from, to) = asked.clamp(app.now().utc_day(), starts, retention);
    let step = ((to.0 - from.0 + 1) / MAX_DAYS + 1).max(1);
    // Starts one step early, for comparison with the first day.
    let sampled = repo::sampled(&mut tx, &series, from.plus_days(-step), to, step).await?;
    Ok(summarize((from, to), step, &sampled))
}

fn summarize((from, to): (UtcDay, UtcDay), step: i64, sampled: &[StoredDay]) -> Summary {
    let shown = sampled.iter().filter(|stored| stored.day >= from);
    let mut sizes = BTreeMap::<Label, i64>::new();
    for (label, values) in shown.clone().flat_map(|stored| &stored.labels.0) {
        *sizes.entry(*label).or_default() += values.active;
    }
    sizes.retain(|_, active| *active > 0);
    let mut by_size: Vec<(Label, i64)> = sizes.into_iter().collect();
    by_size.sort_by_key(|(label, active)| (Reverse(*active), Reverse(*label)));
    let mut releases: Vec<Label> = by_size.into_iter().map(|(label, _)| label).collect();
    let has_others = releases.len() > MAX_CURVES;
    releases.truncate(MAX_CURVES);
    releases.sort_by_key(|label| Reverse(*label));
    let (binaries, has_other_binaries) = most_used(shown.clone());

    let totals = |labels: &Labels| {
        labels.0.values().fold([0; 3], |[downloaded, installed, failed]: [i64; 3], values| {
            [downloaded + values.downloaded, installed + values.installed, failed + values.failed]
        })
    };
    let before = |day: UtcDay| sampled.iter().find(|earlier| earlier.day.plus_days(step) == day);
    let days = shown.map(|StoredDay { day, labels, binaries: stored }| {
        let mut active: Vec<i64> = releases.iter().map(|label| labels.0.get(label).map_or(0, |values| values.active)).collect();
        let all: i64 = labels.0.values().map(|values: &Values| values.active).sum();
        if has_others {
            active.push(all - active.iter().sum::<i64>());
        }
        let added = before(*day).map(|earlier| {
            let (now, then) = (totals(labels), totals(&earlier.labels));
            [now[0] - then[0], now[1] - then[1], now[2] - then[2]]
        });
        let of_binaries = stored.as_ref().map(|stored| {
            let mut active: Vec<i64> = binaries.iter().map(|version| stored.0.get(version).copied().unwrap_or_default()).collect();
            if has_other_binaries {
                active.push(stored.0.values().sum::<i64>() - active.iter().sum::<i64>());
            }
            active
        });
        SummaryDay { date: *day, active, binaries: of_binaries, added }
    });
    Summary { from, to, step, has_others, has_other_binaries, days: days.collect(), releases, binaries }
}

/// The binary versions with the most devices in all of these days, and whether there are others.
fn most_used<'d>(days: impl Iterator<Item = &'d StoredDay>) -> (Vec<String>, bool) {
    let mut sizes = BTreeMap::<&str, i64>::new();
    for (version, active) in days.filter_map(|day| day.binaries.as_ref()).flat_map(|binaries| &binaries.0) {
        *sizes.entry(version).or_default() += active;
    }
    let has_unnamed = sizes.remove(OTHER).is_some();
    let mut versions: Vec<(&str, i64)> = sizes.into_iter().collect();
    versions.sort_by_key(|(version, active)| (Reverse(*active), *version));
    let has_others = has_unnamed || versions.len() > MAX_CURVES;
    (versions.into_iter().take(MAX_CURVES).map(|(version, _)| version.to_owned()).collect(), has_others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::counting::history::labels::Binaries;

    fn day(day: i64, labels: &[(u32, [i64; 4])]) -> StoredDay {
        let labels = labels.iter().map(|(number, values)| (Label::try_from(format!("v{number}").as_str()).unwrap(), Values::from(*values)));
        StoredDay { day: UtcDay(day), labels: Labels(labels.collect()), binaries: None }
    }

    fn binaries(day: i64, versions: &[(&str, i64)]) -> StoredDay {
        let versions = versions.iter().map(|(version, active)| ((*version).to_owned(), *active));
        StoredDay { day: UtcDay(day), labels: Labels::default(), binaries: Some(Binaries(versions.collect())) }
    }

    #[test]
    fn each_day_has_the_active_devices_and_what_was_added_since_the_day_before() {
        let sampled = [
            day(9, &[(1, [5, 9, 8, 0])]),
            day(10, &[(1, [3, 9, 8, 1]), (2, [4, 5, 4, 0])]),
            day(12, &[(1, [0, 9, 8, 1]), (2, [7, 8, 7, 2])]),
        ];
        let summary = summarize((UtcDay(10), UtcDay(12)), 1, &sampled);
        assert_eq!(summary.releases.iter().map(ToString::to_string).collect::<Vec<_>>(), ["v2", "v1"]);
        assert!(!summary.has_others);
        let days = [
            SummaryDay { date: UtcDay(10), active: vec![4, 3], binaries: None, added: Some([5, 4, 1]) },
            // The eleventh is missing.
            SummaryDay { date: UtcDay(12), active: vec![7, 0], binaries: None, added: None },
        ];
        assert_eq!(summary.days, days);
    }

    #[test]
    fn beyond_seven_releases_the_smallest_share_a_curve() {
        let labels: Vec<(u32, [i64; 4])> = (1..=9).map(|number| (number, [i64::from(number), 0, 0, 0])).collect();
        let summary = summarize((UtcDay(5), UtcDay(5)), 1, &[day(5, &labels)]);
        assert_eq!(summary.releases.first().map(ToString::to_string).as_deref(), Some("v9"));
        assert_eq!(summary.days[0].active, [9, 8, 7, 6, 5, 4, 3, 2 + 1]);
        assert!(summary.has_others);
    }

    #[test]
    fn the_most_used_binary_versions_have_a_curve_and_the_others_share_one() {
        let shown = |sampled: &[StoredDay]| {
            let summary = summarize((UtcDay(1), UtcDay(3)), 1, sampled);
            let days = summary.days.into_iter().map(|day| day.binaries).collect::<Vec<_>>();
            (summary.binaries.join(" "), summary.has_other_binaries, days)
        };
        let days = [binaries(0, &[("0.9", 99)]), binaries(1, &[("1.0", 5)]), day(2, &[]), binaries(3, &[("1.0", 1), ("1.1", 7)])];
        // The day before the range is not shown; the second day has none stored.
        assert_eq!(shown(&days), ("1.1 1.0".to_owned(), false, vec![Some(vec![0, 5]), None, Some(vec![7, 1])]));
        let days = [binaries(1, &[("1.0", 5), ("other", 9)])];
        assert_eq!(shown(&days), ("1.0".to_owned(), true, vec![Some(vec![5, 9])]));
        let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|version| (version, 1));
        assert_eq!(shown(&[binaries(1, &many)]), ("a b c d e f g".to_owned(), true, vec![Some(vec![1, 1, 1, 1, 1, 1, 1, 2])]));
    }
}
