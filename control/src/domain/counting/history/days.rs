//! Reads the days of a range, a few at a time, each with the day before it.
//!
//! A deployment may have a thousand labels and a year of days, which is tens of megabytes. So a few days are read at a time, each time in a new transaction.

use std::collections::BTreeMap;

use shared::keys::Label;
use shared::time::UtcDay;

use super::labels::{Labels, Values};
use super::repo::{self, Series};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};
use crate::infra::db::{Db, ReadTx};

/// Days in a range without a start.
const DEFAULT_DAYS: i64 = 30;

/// Days that are read, and held in memory, at a time.
const DAYS_AT_ONCE: usize = 8;

/// The requested range.
#[derive(Debug, Default)]
pub struct DayRange {
    /// The first day; if absent, the last 30 days are returned.
    pub from: Option<UtcDay>,
    /// The last day; if absent, today.
    pub to: Option<UtcDay>,
}

impl DayRange {
    /// The returned range. Each end is clamped separately: no earlier than the history's start and the retention period, no later than today.
    pub(super) fn clamp(&self, today: UtcDay, starts: Option<UtcDay>, retention: i64) -> (UtcDay, UtcDay) {
        let to = self.to.unwrap_or(today);
        let from = self.from.unwrap_or_else(|| to.min(today).plus_days(1 - DEFAULT_DAYS));
        let kept = today.plus_days(1 - retention);
        let earliest = starts.map_or(kept, |starts| starts.max(kept)).min(today);
        (from.clamp(earliest, today), to.clamp(earliest, today))
    }
}

/// The history of a deployment in a range.
#[derive(Debug)]
pub struct History {
    /// The first day of the returned range.
    pub from: UtcDay,
    /// The last day of the returned range.
    pub to: UtcDay,
    /// The first day with data, if any.
    pub starts: Option<UtcDay>,
    /// The first days.
    pub first: Vec<Day>,
    /// The remaining days.
    pub rest: Days,
}

/// A day.
#[derive(Debug)]
pub struct Day {
    /// The day.
    pub date: UtcDay,
    /// The counts, by label.
    pub labels: BTreeMap<Label, Counts>,
}

/// The counts of one label at the end of a day.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// The values.
    pub now: Values,
    /// The values of the day before; none when that day is missing. A label that did not exist that day has zeros.
    pub before: Option<Values>,
}

/// Finds a deployment's history and reads its first days. Errors: 404.
pub async fn read(app: &Context, grant: &AppGrant<ReadMetrics>, deployment: &str, asked: &DayRange) -> Result<History> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?;
    let retention = repo::retention_days(&mut tx, &deployment.id).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    let series = Series { deployment: deployment.id, epoch: deployment.counting_epoch };
    let starts = repo::newest(&mut tx, &series).await?.map(|newest| newest.first_day);
    let (from, to) = asked.clamp(app.now().utc_day(), starts, retention);
    // Starts one day early, for comparison with the first day.
    let mut rest = Days { series, next: Some(from.plus_days(-1)), from, to, before: None };
    let first = rest.next_in(&mut tx).await?;
    Ok(History { from, to, starts, first, rest })
}

/// Days that are not read yet. If the history is cleared meanwhile, none of them exist anymore.
#[derive(Debug)]
pub struct Days {
    series: Series,
    /// The day to continue with; none at the end.
    next: Option<UtcDay>,
    from: UtcDay,
    to: UtcDay,
    /// The last day that was read.
    before: Option<(UtcDay, Labels)>,
}

impl Days {
    /// Whether there may be more days.
    pub fn is_more(&self) -> bool {
        self.next.is_some()
    }

    /// Reads the next days.
    pub async fn next(&mut self, db: &Db) -> sqlx::Result<Vec<Day>> {
        self.next_in(&mut db.read().await?).await
    }

    async fn next_in(&mut self, tx: &mut ReadTx) -> sqlx::Result<Vec<Day>> {
        let Some(next) = self.next.take() else { return Ok(Vec::new()) };
        let limit = i64::try_from(DAYS_AT_ONCE).unwrap_or(i64::MAX);
        let stored = repo::list(tx, &self.series, next, self.to, limit).await?;
        if stored.len() == DAYS_AT_ONCE {
            self.next = stored.last().map(|(day, _)| day.plus_days(1)).filter(|next| *next <= self.to);
        }
        let mut days = Vec::with_capacity(stored.len());
        for (date, labels) in stored {
            if date >= self.from {
                let before = self.before.as_ref().filter(|(before, _)| before.plus_days(1) == date).map(|(_, labels)| labels);
                let counts = |(label, now): (&Label, &Values)| {
                    let before = before.map(|labels| labels.0.get(label).copied().unwrap_or_default());
                    (*label, Counts { now: *now, before })
                };
                days.push(Day { date, labels: labels.0.iter().map(counts).collect() });
            }
            self.before = Some((date, labels));
        }
        Ok(days)
    }
}
