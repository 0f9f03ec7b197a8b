//! The job that records daily history: at startup and every hour, for each deployment with releases, one transaction after the other.
//!
//! Replicas may run it at the same time: a change locks the deployment first and reads again, and repeating it has no effect. A deployment that fails
//! does not delay the others. If a round is aborted or missed, the current day is less precise until the next round, or missing if it was the day's
//! only round. No number becomes wrong.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use shared::ids::DeploymentId;
use shared::time::{UnixMillis, UtcDay};

use super::runner::{Job, Pause};
use crate::domain::context::Context;
use crate::domain::counting::history::labels::{Binaries, Counter, Labels};
use crate::domain::counting::history::repo::{self, OpenDay, Series, StoredValues};
use crate::domain::counting::versions;
use crate::domain::error::{Error, Result, chain};
use crate::infra::db::{Db, ReadTx};

/// The time between two rounds. The injected clock determines the day.
const EVERY: Duration = Duration::from_hours(1);

/// Deployments read at once.
const PAGE: i64 = 100;

/// Maximum clock skew between replicas, in milliseconds. A change from the next day is accepted only this long before midnight.
const MIDNIGHT: i64 = 10 * 60_000;

/// Days deleted in one transaction.
const BATCH: i64 = 50;

/// The job. The same rounds also compare binary versions.
#[derive(Debug)]
pub struct History(pub Arc<Context>);

impl Job for History {
    const NAME: &'static str = "history";

    async fn round(&mut self) -> Result<Pause> {
        match round(&self.0).await + versions::round(&self.0).await {
            0 => Ok(Pause::For(EVERY)),
            failures => Err(Error::internal(format!("{failures} histories could not be kept"))),
        }
    }
}

/// Updates the history of every deployment, and deletes days beyond the owners' retention. Returns the number of failures, which are logged.
pub async fn round(app: &Context) -> usize {
    let (mut after, mut failures) = (String::new(), 0);
    loop {
        let page = match page(&app.db, &after).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(cause = chain(&error), "daily history could not be updated; it is retried");
                return failures + 1;
            }
        };
        let Some(last) = page.last() else { return failures };
        last.id.as_str().clone_into(&mut after);
        for row in page {
            let now = app.now();
            let series = Series { deployment: row.id, epoch: row.counting_epoch };
            let updated = async {
                update(&app.db, &series, now).await?;
                expire(&app.db, &series, now.utc_day()).await
            };
            if let Err(error) = updated.await {
                let deployment = series.deployment.as_str();
                tracing::warn!(
                    deployment.id = deployment,
                    cause = chain(&error),
                    "the daily history of a deployment could not be updated; it is retried"
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

/// Writes only if something differs: most deployments rarely change.
async fn update(db: &Db, series: &Series, now: UnixMillis) -> sqlx::Result<()> {
    let mut tx = db.read().await?;
    let stored = repo::newest(&mut tx, series).await?;
    let counters = repo::counters(&mut tx, series).await?;
    drop(tx);
    if let Some(stored) = stored
        && stored.day >= now.utc_day()
        && are_current(&counters, stored.day, newest_change(stored.day, now))
        && values(stored.day, &counters)? == stored.values
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
    if let Some(closed) = stored.as_ref().filter(|_| is_new) {
        warn_of_late_counters(&series, closed.day, &counters);
    }
    let newest = newest_change(day, now);
    if is_new || !are_current(&counters, day, newest) {
        let places = counters.into_iter().map(|counter| counter.place).collect();
        counters = repo::open(&mut tx, &series, places, day, newest).await?;
    }
    if let Some(closed) = stored.as_ref().filter(|_| is_new) {
        // A day without binary versions was opened by an earlier release, which did not tell their counters.
        let of_day = values(closed.day, &counters)?;
        let binaries = of_day.binaries.filter(|_| closed.values.binaries.is_some());
        repo::close(&mut tx, &series, closed.day, &StoredValues { binaries, ..of_day }).await?;
    }
    let first_day = stored.map_or(day, |stored| stored.first_day);
    repo::save(&mut tx, &series, &OpenDay { day, first_day, values: values(day, &counters)? }).await?;
    tx.commit().await
}

/// The newest day that a change may have while `day` is open. Shortly before midnight, that is the next day: another replica's midnight may have come
/// first. A change with any other later day comes from a clock that was ahead, and hides this day's changes until it is undone.
fn newest_change(day: UtcDay, now: UnixMillis) -> UtcDay {
    if now.plus_millis(MIDNIGHT).utc_day() > day { day.plus_days(1) } else { day }
}

/// Whether every counter has this day as its open day, and no change from a day after `newest`.
fn are_current(counters: &[Counter], day: UtcDay, newest: UtcDay) -> bool {
    counters.iter().all(|counter| counter.open_day == day && counter.day <= newest)
}

/// Logs a warning if a day is closed with lower counts than at its end: a counter did not have the day as its open day, and has changed since. This needs
/// the very first report of a label or binary version, from a clock that is behind, at the moment when another replica opens the day.
fn warn_of_late_counters(series: &Series, closed: UtcDay, counters: &[Counter]) {
    for counter in counters.iter().filter(|counter| counter.open_day < closed && closed < counter.day) {
        let (deployment, place) = (series.deployment.as_str(), counter.place.as_str());
        tracing::warn!(
            deployment.id = deployment,
            place,
            "a day of the history is closed with an earlier day's counts of a release or binary version"
        );
    }
}

fn values(day: UtcDay, counters: &[Counter]) -> sqlx::Result<StoredValues> {
    let labels = Labels::at(day, counters);
    let active = Some(labels.0.values().map(|values| values.active).sum());
    Ok(StoredValues { labels: text(&labels)?, active, binaries: Some(text(&Binaries::at(day, counters))?) })
}

fn text(part: &impl Serialize) -> sqlx::Result<String> {
    serde_json::to_string(part).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}

/// Deletes closed days that are no longer needed, each batch in its own transaction. Keeps the days that are shown and the one before, to which the
/// first is compared. The retention is counted back from at most one day after the newest closed day: a clock that is ahead deletes nothing on its own.
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

/// The first day within the owner's retention, counted back from `end`; `None` if the deployment was deleted.
async fn shown_from(tx: &mut ReadTx, series: &Series, end: UtcDay) -> sqlx::Result<Option<UtcDay>> {
    let retention = repo::retention_days(tx, &series.deployment).await?;
    Ok(retention.map(|days| end.plus_days(-days)))
}

/// Deletes one batch. Reads the retention again: since the round began, an operator may have raised it, or the app may have a new owner.
async fn delete_expired(db: &Db, series: &Series, end: UtcDay) -> sqlx::Result<u64> {
    let mut tx = db.write().await?;
    let Some(before) = shown_from(&mut tx, series, end).await? else { return Ok(0) };
    let deleted = repo::delete_expired(&mut tx, series, before, BATCH).await?;
    tx.commit().await?;
    Ok(deleted)
}
