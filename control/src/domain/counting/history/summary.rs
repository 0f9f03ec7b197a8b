//! A range of the history for charts: at most about a hundred days of it, however long it is, and the releases that most devices ran.
//!
//! Counts are totals, so leaving days out loses nothing between them: what a step added is the difference of its ends.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::keys::Label;
use shared::time::UtcDay;

use super::days::DayRange;
use super::labels::{Labels, Values};
use super::repo::{self, Series};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};

/// The most days that are read.
const MAX_DAYS: i64 = 100;
/// How many releases have a curve of their own; the others share one.
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

fn summarize((from, to): (UtcDay, UtcDay), step: i64, sampled: &[(UtcDay, Labels)]) -> Summary {
    let shown = sampled.iter().filter(|(day, _)| *day >= from);
    let mut sizes = BTreeMap::<Label, i64>::new();
    for (label, values) in shown.clone().flat_map(|(_, labels)| &labels.0) {
        *sizes.entry(*label).or_default() += values.active;
    }
    sizes.retain(|_, active| *active > 0);
    let mut by_size: Vec<(Label, i64)> = sizes.into_iter().collect();
    by_size.sort_by_key(|(label, active)| (Reverse(*active), Reverse(*label)));
    let mut releases: Vec<Label> = by_size.into_iter().map(|(label, _)| label).collect();
    let has_others = releases.len() > MAX_CURVES;
    releases.truncate(MAX_CURVES);
    releases.sort_by_key(|label| Reverse(*label));

    let totals = |labels: &Labels| {
        labels.0.values().fold([0; 3], |[downloaded, installed, failed]: [i64; 3], values| {
            [downloaded + values.downloaded, installed + values.installed, failed + values.failed]
        })
    };
    let before = |day: UtcDay| sampled.iter().find(|(earlier, _)| earlier.plus_days(step) == day);
    let days = shown.map(|(date, labels)| {
        let mut active: Vec<i64> = releases.iter().map(|label| labels.0.get(label).map_or(0, |values| values.active)).collect();
        let all: i64 = labels.0.values().map(|values: &Values| values.active).sum();
        if has_others {
            active.push(all - active.iter().sum::<i64>());
        }
        let added = before(*date).map(|(_, earlier)| {
            let (now, then) = (totals(labels), totals(earlier));
            [now[0] - then[0], now[1] - then[1], now[2] - then[2]]
        });
        SummaryDay { date: *date, active, added }
    });
    Summary { from, to, step, has_others, days: days.collect(), releases }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64, labels: &[(u32, [i64; 4])]) -> (UtcDay, Labels) {
        let labels = labels.iter().map(|(number, values)| (Label::try_from(format!("v{number}").as_str()).unwrap(), Values::from(*values)));
        (UtcDay(day), Labels(labels.collect()))
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
            SummaryDay { date: UtcDay(10), active: vec![4, 3], added: Some([5, 4, 1]) },
            // The eleventh is missing.
            SummaryDay { date: UtcDay(12), active: vec![7, 0], added: None },
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
}
