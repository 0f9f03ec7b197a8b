//! The days of a range for those who may see them, a few at a time, each with the day before it.
//!
//! A deployment may have a thousand labels and a year of days, which is tens of megabytes. So they are read a few days at a time, each few in a transaction
//! of their own.

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

/// Days that are shown unless asked otherwise.
const DEFAULT_DAYS: i64 = 30;

/// Days that are read, and held, at once.
const DAYS_AT_ONCE: usize = 8;

/// The range that is asked for.
#[derive(Debug, Default)]
pub struct Asked {
    /// The first day; 30 days before the last one with it unless given.
    pub from: Option<UtcDay>,
    /// The last day; today unless given.
    pub to: Option<UtcDay>,
}

impl Asked {
    /// The range that is shown: each end, by itself, no earlier than the history's start and what the retention leaves, and no later than today.
    fn clamp(&self, today: UtcDay, starts: Option<UtcDay>, retention: i64) -> (UtcDay, UtcDay) {
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
    /// The first day of the range that is shown.
    pub from: UtcDay,
    /// The last day of the range that is shown.
    pub to: UtcDay,
    /// The first day with data, where there is any.
    pub starts: Option<UtcDay>,
    /// The first days.
    pub first: Vec<Day>,
    /// Those after them.
    pub rest: Days,
}

/// A day.
#[derive(Debug)]
pub struct Day {
    /// The day.
    pub date: UtcDay,
    /// The counts by label.
    pub labels: BTreeMap<Label, Counts>,
}

/// The counts of one label at the end of a day.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// What they are.
    pub now: Values,
    /// What they were the day before; none when that day is missing. A label that it did not have counts from nothing.
    pub before: Option<Values>,
}

/// Finds the history of a deployment, and reads its first days. Errors: 404.
pub async fn read(app: &Context, grant: &AppGrant<ReadMetrics>, deployment: &str, asked: &Asked) -> Result<History> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), deployment).await?;
    let retention = repo::retention_days(&mut tx, &deployment.id).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    let series = Series { deployment: deployment.id, epoch: deployment.counting_epoch };
    let starts = repo::newest(&mut tx, &series).await?.map(|newest| newest.first_day);
    let (from, to) = asked.clamp(app.now().utc_day(), starts, retention);
    // Begins with the day that the first one is compared with.
    let mut rest = Days { series, next: Some(from.plus_days(-1)), from, to, before: None };
    let first = rest.next_in(&mut tx).await?;
    Ok(History { from, to, starts, first, rest })
}

/// Days that are still to be read. If the history is cleared meanwhile, none of them is there any more.
#[derive(Debug)]
pub struct Days {
    series: Series,
    /// The day to go on with; none at the end.
    next: Option<UtcDay>,
    from: UtcDay,
    to: UtcDay,
    /// The last one that was read.
    before: Option<(UtcDay, Labels)>,
}

impl Days {
    /// Whether there may be more.
    pub fn is_more(&self) -> bool {
        self.next.is_some()
    }

    /// Reads some days.
    pub async fn next(&mut self, db: &Db) -> sqlx::Result<Vec<Day>> {
        self.next_in(&mut db.read().await?).await
    }

    async fn next_in(&mut self, tx: &mut ReadTx) -> sqlx::Result<Vec<Day>> {
        let Some(next) = self.next.take() else { return Ok(Vec::new()) };
        let most = i64::try_from(DAYS_AT_ONCE).unwrap_or(i64::MAX);
        let stored = repo::list(tx, &self.series, next, self.to, most).await?;
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
