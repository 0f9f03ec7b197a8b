//! SQL of recent metrics.
//!
//! A batch locks these rows after the counters of the same names, so two batches that meet here have met there before, and cannot deadlock.

use shared::ids::DeploymentId;
use shared::time::UnixMillis;

use super::kept;
use crate::domain::counting::repo::CHUNK;
use crate::domain::counting::rules::{Change, Changes};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const ADD: &str = "INSERT INTO metric_minutes (deployment_id, epoch, minute, place, active, downloaded, installed, failed) \
    VALUES [(?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (deployment_id, epoch, minute, place) DO UPDATE SET \
    active = metric_minutes.active + excluded.active, downloaded = metric_minutes.downloaded + excluded.downloaded, \
    installed = metric_minutes.installed + excluded.installed, failed = metric_minutes.failed + excluded.failed";
const LIST: &str = "SELECT minute - minute % $5 AS time, place, CAST(SUM(active) AS BIGINT) AS active, CAST(SUM(downloaded) AS BIGINT) AS downloaded, \
    CAST(SUM(installed) AS BIGINT) AS installed, CAST(SUM(failed) AS BIGINT) AS failed FROM metric_minutes \
    WHERE deployment_id = $1 AND epoch = $2 AND minute >= $3 AND minute < $4 GROUP BY 1, 2";
const LIST_OF: &str = "SELECT minute - minute % $6 AS time, place, CAST(SUM(active) AS BIGINT) AS active, CAST(SUM(downloaded) AS BIGINT) AS downloaded, \
    CAST(SUM(installed) AS BIGINT) AS installed, CAST(SUM(failed) AS BIGINT) AS failed FROM metric_minutes \
    WHERE deployment_id = $1 AND epoch = $2 AND minute >= $3 AND minute < $4 AND place = $5 GROUP BY 1, 2";
const DELETE_OLDEST: &str = "DELETE FROM metric_minutes WHERE minute = (SELECT MIN(minute) FROM metric_minutes) AND minute < $1";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[ADD, LIST, LIST_OF, DELETE_OLDEST];

/// What changed in a step.
#[derive(Debug, sqlx::FromRow)]
pub struct StepRow {
    /// The beginning of the step.
    pub time: UnixMillis,
    /// A label, a binary version or `other`.
    pub place: String,
    /// The change of active devices.
    pub active: i64,
    /// … of those that have downloaded it.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have rolled back from it.
    pub failed: i64,
}

/// Adds to the minutes in key order. Minutes that are no longer kept are left out, so that no row appears that is about to be deleted.
pub async fn add(tx: &mut WriteTx, changes: &Changes, now: UnixMillis) -> sqlx::Result<()> {
    let since = now.plus_millis(-kept());
    let all =
        changes.0.iter().flat_map(|(place, increments)| increments.by_minute.iter().map(move |(minute, change)| (place, *minute, *change)));
    let mut rows: Vec<_> = all.filter(|(_, minute, change)| *minute >= since && *change != Change::default()).collect();
    rows.sort_unstable_by_key(|(place, minute, _)| (place.deployment.as_str(), place.epoch, *minute, place.bucket.as_str()));
    for chunk in rows.chunks(CHUNK) {
        let sql = tx.listed(ADD, chunk.len());
        on_write!(tx, |conn| {
            let mut query = sqlx::query(sql).persistent(false);
            for (place, minute, change) in chunk {
                query = query.bind(&place.deployment).bind(place.epoch).bind(*minute).bind(&place.bucket);
                query = query.bind(change.active).bind(change.downloaded).bind(change.installed).bind(change.failed);
            }
            query.execute(conn).await
        })?;
    }
    Ok(())
}

/// The changes of a deployment from `range.0` until before `range.1`, by step and counter, unordered.
pub async fn list(
    tx: &mut ReadTx,
    deployment: &DeploymentId,
    epoch: i64,
    range: (UnixMillis, UnixMillis),
    step_millis: i64,
) -> sqlx::Result<Vec<StepRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(deployment).bind(epoch).bind(range.0).bind(range.1).bind(step_millis).fetch_all(conn).await)
}

/// Like [`list`], of one counter.
pub async fn list_of(
    tx: &mut ReadTx,
    (deployment, epoch): (&DeploymentId, i64),
    range: (UnixMillis, UnixMillis),
    place: &str,
    step_millis: i64,
) -> sqlx::Result<Vec<StepRow>> {
    on!(tx, |conn| sqlx::query_as(LIST_OF)
        .bind(deployment)
        .bind(epoch)
        .bind(range.0)
        .bind(range.1)
        .bind(place)
        .bind(step_millis)
        .fetch_all(conn)
        .await)
}

/// Deletes the rows of the oldest minute if it is before this time, and returns their number.
pub async fn delete_oldest(tx: &mut WriteTx, before: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_OLDEST).bind(before).execute(conn).await)
}
