//! The job that keeps daily history: every hour, and at the start, each deployment that has releases, one transaction after the other.
//!
//! Replicas may do so at once: whoever changes a deployment's days has locked the deployment and looks again, and to do it twice is to do it once. A
//! deployment that fails does not hold up the others. A round that is cut off, or never came, costs the precision of the current day until the next one,
//! and the day itself if it was the only one of that day; it makes no number wrong.

use std::sync::Arc;
use std::time::Duration;

use shared::ids::DeploymentId;
use shared::time::{UnixMillis, UtcDay};

use super::runner::{Job, Rest};
use crate::domain::context::Context;
use crate::domain::counting::history::labels::{Counter, Labels};
use crate::domain::counting::history::repo::{self, OpenDay, Series};
use crate::domain::counting::versions;
use crate::domain::error::{Result, chain};
use crate::infra::db::{Db, ReadTx};

/// From one round to the next. What day it is when it comes, the injected clock says.
const EVERY: Duration = Duration::from_hours(1);

/// From a round in which something failed to the next.
const RETRY: Duration = Duration::from_mins(1);

/// Deployments that are looked up at once.
const PAGE: i64 = 100;

/// How far a replica's clock may be ahead of another's: a change of the next day is taken for one when the day has that little left, in milliseconds.
const MIDNIGHT: i64 = 10 * 60_000;

/// Days that are deleted in one transaction.
const BATCH: i64 = 50;

/// The job. Binary versions are compared in the same rounds.
#[derive(Debug)]
pub struct History(pub Arc<Context>);

impl Job for History {
    const NAME: &'static str = "history";

    async fn round(&mut self) -> Result<Rest> {
        let failures = round(&self.0).await + versions::round(&self.0).await;
        Ok(Rest::For(if failures > 0 { RETRY } else { EVERY }))
    }
}

/// Brings the history of every deployment up to date and lets go what the owners' retention no longer shows. Gives in how many places it failed; those
/// are logged.
pub async fn round(app: &Context) -> usize {
    let (mut after, mut failures) = (String::new(), 0);
    loop {
        let page = match page(&app.db, &after).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(cause = chain(&error), "daily history could not be kept; tried again in a minute");
                return failures + 1;
            }
        };
        let Some(last) = page.last() else { return failures };
        last.id.as_str().clone_into(&mut after);
        for row in page {
            let now = app.now();
            let series = Series { deployment: row.id, epoch: row.counting_epoch };
            let kept = async {
                keep(&app.db, &series, now).await?;
                expire(&app.db, &series, now.utc_day()).await
            };
            if let Err(error) = kept.await {
                let deployment = series.deployment.as_str();
                tracing::warn!(
                    deployment.id = deployment,
                    cause = chain(&error),
                    "a daily history could not be kept; tried again in a minute"
                );
                failures += 1;
            }
        }
    }
}

async fn page(db: &Db, after: &str) -> sqlx::Result<Vec<repo::ReleasedRow>> {
    let mut tx = db.read().await?;
    repo::released(&mut tx, after, PAGE).await
}

/// Writes only where something differs: most deployments are quiet most of the time.
async fn keep(db: &Db, series: &Series, now: UnixMillis) -> sqlx::Result<()> {
    let mut tx = db.read().await?;
    let stored = repo::newest(&mut tx, series).await?;
    let counters = repo::counters(&mut tx, series).await?;
    drop(tx);
    if let Some(stored) = stored
        && stored.day >= now.utc_day()
        && are_told(&counters, stored.day, newest_change(stored.day, now))
        && text(stored.day, &counters)? == stored.labels
    {
        return Ok(());
    }
    write(db, &series.deployment, now).await
}

async fn write(db: &Db, deployment: &DeploymentId, now: UnixMillis) -> sqlx::Result<()> {
    let mut tx = db.write().await?;
    let Some(series) = repo::lock(&mut tx, deployment).await? else { return Ok(()) };
    if !repo::has_releases(&mut tx, deployment).await? {
        return Ok(());
    }
    let stored = repo::newest(&mut tx, &series).await?;
    let today = now.utc_day();
    let day = stored.as_ref().map_or(today, |stored| stored.day.max(today));
    let mut counters = repo::counters(&mut tx, &series).await?;
    let is_new = stored.as_ref().is_none_or(|stored| stored.day < day);
    if let Some(over) = stored.as_ref().filter(|_| is_new) {
        warn_of_untold(&series, over.day, &counters);
    }
    let newest = newest_change(day, now);
    if is_new || !are_told(&counters, day, newest) {
        counters = repo::open(&mut tx, &series, counters.iter().map(|counter| counter.label), day, newest).await?;
    }
    if let Some(over) = stored.as_ref().filter(|_| is_new) {
        repo::close(&mut tx, &series, over.day, &text(over.day, &counters)?).await?;
    }
    let first_day = stored.map_or(day, |stored| stored.first_day);
    repo::save(&mut tx, &series, &OpenDay { day, first_day, labels: text(day, &counters)? }).await?;
    tx.commit().await
}

/// The newest day of which a change may be while `day` is open. Shortly before midnight, one of the next day may be another replica's, whose midnight came
/// first; every other is of a clock that was ahead, and until it is taken back none of this day's changes is known as such.
fn newest_change(day: UtcDay, now: UnixMillis) -> UtcDay {
    if now.plus_millis(MIDNIGHT).utc_day() > day { day.plus_days(1) } else { day }
}

/// Whether every counter knows that this day is open, and has no change of a day after the `newest` that there can be.
fn are_told(counters: &[Counter], day: UtcDay, newest: UtcDay) -> bool {
    counters.iter().all(|counter| counter.open_day == day && counter.day <= newest)
}

/// Says so when a day is closed with less than there was at its end: a counter never heard that the day was open, and has changed since. It takes a
/// label's very first report, by a clock that is behind, at the moment in which another replica opens the day.
fn warn_of_untold(series: &Series, over: UtcDay, counters: &[Counter]) {
    for counter in counters.iter().filter(|counter| counter.open_day < over && over < counter.day) {
        let (deployment, label) = (series.deployment.as_str(), counter.label.to_string());
        tracing::warn!(deployment.id = deployment, label, "a day is closed with an earlier day's counts of a release");
    }
}

fn text(day: UtcDay, counters: &[Counter]) -> sqlx::Result<String> {
    serde_json::to_string(&Labels::at(day, counters)).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}

/// Deletes the closed days that are no longer needed, each batch in a transaction of its own: all but those that are shown and the one before, with which
/// the first of those is compared. Reckoned no later than from the day after the newest closed one: a clock that is ahead deletes nothing by itself.
async fn expire(db: &Db, series: &Series, today: UtcDay) -> sqlx::Result<()> {
    let mut tx = db.read().await?;
    let Some(closed) = repo::newest_closed(&mut tx, series).await? else { return Ok(()) };
    let end = today.min(closed.plus_days(1));
    let Some(before) = shown_from(&mut tx, series, end).await? else { return Ok(()) };
    let is_expired = repo::is_expired(&mut tx, series, before).await?;
    drop(tx);
    if is_expired {
        while delete_expired(db, series, end).await? > 0 {}
    }
    Ok(())
}

/// The first day that the owner's retention leaves, reckoned from `end`; none when the deployment is gone.
async fn shown_from(tx: &mut ReadTx, series: &Series, end: UtcDay) -> sqlx::Result<Option<UtcDay>> {
    let retention = repo::retention_days(tx, &series.deployment).await?;
    Ok(retention.map(|days| end.plus_days(-days)))
}

/// Reads the retention once more: an operator may have raised it, or the app may be another owner's, since the round began.
async fn delete_expired(db: &Db, series: &Series, end: UtcDay) -> sqlx::Result<u64> {
    let mut tx = db.write().await?;
    let Some(before) = shown_from(&mut tx, series, end).await? else { return Ok(0) };
    let deleted = repo::delete_expired(&mut tx, series, before, BATCH).await?;
    tx.commit().await?;
    Ok(deleted)
}
