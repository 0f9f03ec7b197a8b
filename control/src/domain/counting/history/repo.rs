//! SQL of daily history.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;
use shared::ids::DeploymentId;
use shared::time::UtcDay;

use super::labels::{Binaries, Counter, Labels, Values};
use crate::domain::counting::repo::CHUNK;
use crate::domain::deployments;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const RELEASED: &str = "SELECT d.id, d.counting_epoch FROM deployments d \
    WHERE d.id > $1 AND EXISTS (SELECT 1 FROM releases r WHERE r.deployment_id = d.id) ORDER BY d.id LIMIT $2";
const HAS_RELEASES: &str = "SELECT 1 FROM releases WHERE deployment_id = $1 LIMIT 1";
const COUNTERS: &str = "SELECT place, active, downloaded, installed, failed, first_day, day, open_day, \
    before_active, before_downloaded, before_installed, before_failed FROM metric_counters WHERE deployment_id = $1 AND epoch = $2";
const NEWEST: &str =
    "SELECT day, first_day, labels, active, binaries FROM metric_days WHERE deployment_id = $1 AND epoch = $2 ORDER BY day DESC LIMIT 1";
const NEWEST_CLOSED: &str = "SELECT day FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND is_closed ORDER BY day DESC LIMIT 1";
const CLOSE: &str = "UPDATE metric_days SET labels = $4, active = $5, binaries = $6, is_closed = TRUE \
    WHERE deployment_id = $1 AND epoch = $2 AND day = $3 AND NOT is_closed";
const SAVE: &str = "INSERT INTO metric_days (deployment_id, epoch, day, first_day, labels, active, binaries, is_closed) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, FALSE) ON CONFLICT (deployment_id, epoch, day) DO UPDATE SET labels = excluded.labels, \
    active = excluded.active, binaries = excluded.binaries WHERE NOT metric_days.is_closed";
const LIST: &str =
    "SELECT day, labels FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND day >= $3 AND day <= $4 ORDER BY day LIMIT $5";
// Counted back from the last day, so that it is always one of them.
const SAMPLED: &str = "SELECT day, labels, binaries FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND day >= $3 AND day <= $4 \
    AND (day - $4) % $5 = 0 ORDER BY day";
// SQLite keeps the order of a CROSS JOIN: a range of the index for each deployment.
const SINCE: &str = "SELECT m.deployment_id, m.day, m.active FROM deployments d CROSS JOIN metric_days m \
    WHERE m.deployment_id = d.id AND m.epoch = d.counting_epoch AND m.day >= ? AND m.active IS NOT NULL AND d.id IN ([?])";
const IS_EXPIRED: &str = "SELECT 1 FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND day < $3 AND is_closed LIMIT 1";
const DELETE_EXPIRED: &str = "DELETE FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND is_closed \
    AND day IN (SELECT day FROM metric_days WHERE deployment_id = $1 AND epoch = $2 AND day < $3 AND is_closed ORDER BY day LIMIT $4)";
const RETENTION: &str = "SELECT o.retention_days FROM deployments d JOIN apps a ON a.id = d.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE d.id = $1";
// The inserted `day` is the latest day that a change can have.
const OPEN: &str = "INSERT INTO metric_counters (deployment_id, epoch, place, active, downloaded, installed, failed, first_day, day, open_day) \
    VALUES [(?, ?, ?, 0, 0, 0, 0, ?, ?, ?)] ON CONFLICT (deployment_id, epoch, place) DO UPDATE SET open_day = excluded.open_day, \
    first_day = CASE WHEN (metric_counters.open_day <> excluded.open_day OR metric_counters.day > excluded.day) \
        AND metric_counters.first_day > excluded.open_day THEN excluded.open_day ELSE metric_counters.first_day END, \
    day = CASE WHEN (metric_counters.open_day <> excluded.open_day OR metric_counters.day > excluded.day) \
        AND metric_counters.day > excluded.open_day THEN excluded.open_day ELSE metric_counters.day END \
    RETURNING place, active, downloaded, installed, failed, first_day, day, open_day, \
    before_active, before_downloaded, before_installed, before_failed";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[
    RELEASED,
    HAS_RELEASES,
    COUNTERS,
    NEWEST,
    NEWEST_CLOSED,
    CLOSE,
    SAVE,
    LIST,
    SAMPLED,
    SINCE,
    IS_EXPIRED,
    DELETE_EXPIRED,
    RETENTION,
    OPEN,
];

/// A deployment with releases.
#[derive(Debug, sqlx::FromRow)]
pub struct ReleasedRow {
    /// Its ID.
    pub id: DeploymentId,
    /// Its counting epoch; days of older epochs count as absent.
    pub counting_epoch: i64,
}

/// The days of one deployment in one counting epoch.
#[derive(Clone, Debug)]
pub struct Series {
    /// The deployment.
    pub deployment: DeploymentId,
    /// The counting epoch.
    pub epoch: i64,
}

/// The newest day of a series: the open one.
#[derive(Debug, sqlx::FromRow)]
pub struct OpenDay {
    /// The day.
    pub day: UtcDay,
    /// The first day of the series.
    pub first_day: UtcDay,
    /// Its values.
    #[sqlx(flatten)]
    pub values: StoredValues,
}

/// A day's values as they are stored.
#[derive(Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredValues {
    /// By label, as JSON.
    pub labels: String,
    /// The active devices of all labels; none if an earlier release stored the day.
    pub active: Option<i64>,
    /// By binary version, as JSON; none if they were not stored.
    pub binaries: Option<String>,
}

/// A stored day.
#[derive(Clone, Debug)]
pub struct StoredDay {
    /// The day.
    pub day: UtcDay,
    /// The counts of its labels.
    pub labels: Labels,
    /// The active devices of its binary versions; none if they were not stored.
    pub binaries: Option<Binaries>,
}

#[derive(sqlx::FromRow)]
struct CounterRow {
    place: String,
    active: i64,
    downloaded: i64,
    installed: i64,
    failed: i64,
    first_day: UtcDay,
    day: UtcDay,
    open_day: UtcDay,
    before_active: i64,
    before_downloaded: i64,
    before_installed: i64,
    before_failed: i64,
}

impl CounterRow {
    fn read(self) -> Counter {
        Counter {
            place: self.place,
            now: Values { active: self.active, downloaded: self.downloaded, installed: self.installed, failed: self.failed },
            first_day: self.first_day,
            day: self.day,
            open_day: self.open_day,
            before: Values {
                active: self.before_active,
                downloaded: self.before_downloaded,
                installed: self.before_installed,
                failed: self.before_failed,
            },
        }
    }
}

/// The next deployments with releases, by ID.
pub async fn released(tx: &mut ReadTx, after: &str, limit: i64) -> sqlx::Result<Vec<ReleasedRow>> {
    on!(tx, |conn| sqlx::query_as(RELEASED).bind(after).bind(limit).fetch_all(conn).await)
}

/// Locks a deployment until the transaction ends, and returns its current series; none when it was deleted.
pub async fn lock(tx: &mut WriteTx, deployment: &DeploymentId) -> sqlx::Result<Option<Series>> {
    let locked = deployments::repo::lock(tx, deployment).await?;
    Ok(locked.map(|row| Series { deployment: row.id, epoch: row.counting_epoch }))
}

/// Whether the deployment has a release.
pub async fn has_releases(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<bool> {
    let found: Option<i32> = on!(tx, |conn| sqlx::query_scalar(HAS_RELEASES).bind(deployment).fetch_optional(conn).await)?;
    Ok(found.is_some())
}

/// The counters of the series, unordered.
pub async fn counters(tx: &mut ReadTx, series: &Series) -> sqlx::Result<Vec<Counter>> {
    let rows: Vec<CounterRow> = on!(tx, |conn| sqlx::query_as(COUNTERS).bind(&series.deployment).bind(series.epoch).fetch_all(conn).await)?;
    Ok(rows.into_iter().map(CounterRow::read).collect())
}

/// Tells these counters which day is open, and returns their current values. The rows stay locked until the transaction ends. A last change with a later date
/// comes from a replica whose clock is ahead; it is re-dated to the open day, which has not ended yet. If the counter already knew this open day, only a
/// change dated after `newest`, the latest possible day, is re-dated: any other later change has already saved the values at this day's end.
///
/// This is an upsert although the rows exist, because an upsert locks them in key order, as batches of reports do.
pub async fn open(tx: &mut WriteTx, series: &Series, mut places: Vec<String>, day: UtcDay, newest: UtcDay) -> sqlx::Result<Vec<Counter>> {
    places.sort_unstable();
    let mut counters = Vec::with_capacity(places.len());
    for chunk in places.chunks(CHUNK) {
        let sql = tx.listed(OPEN, chunk.len());
        let rows: Vec<CounterRow> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for place in chunk {
                query = query.bind(&series.deployment).bind(series.epoch).bind(place).bind(day).bind(newest).bind(day);
            }
            query.fetch_all(conn).await
        })?;
        counters.extend(rows.into_iter().map(CounterRow::read));
    }
    Ok(counters)
}

/// The newest day of the series.
pub async fn newest(tx: &mut ReadTx, series: &Series) -> sqlx::Result<Option<OpenDay>> {
    on!(tx, |conn| sqlx::query_as(NEWEST).bind(&series.deployment).bind(series.epoch).fetch_optional(conn).await)
}

/// The newest closed day of the series.
pub async fn newest_closed(tx: &mut ReadTx, series: &Series) -> sqlx::Result<Option<UtcDay>> {
    on!(tx, |conn| sqlx::query_scalar(NEWEST_CLOSED).bind(&series.deployment).bind(series.epoch).fetch_optional(conn).await)
}

/// Closes a day with its final values.
pub async fn close(tx: &mut WriteTx, series: &Series, day: UtcDay, values: &StoredValues) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CLOSE)
        .bind(&series.deployment)
        .bind(series.epoch)
        .bind(day)
        .bind(values.labels.as_str())
        .bind(values.active)
        .bind(values.binaries.as_deref())
        .execute(conn)
        .await)
}

/// Saves the open day; a closed one is not changed.
pub async fn save(tx: &mut WriteTx, series: &Series, open: &OpenDay) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SAVE)
        .bind(&series.deployment)
        .bind(series.epoch)
        .bind(open.day)
        .bind(open.first_day)
        .bind(open.values.labels.as_str())
        .bind(open.values.active)
        .bind(open.values.binaries.as_deref())
        .execute(conn)
        .await)
}

/// The days of the series in a range, both ends included, ascending, at most `limit`. A row that cannot be parsed is an error.
pub async fn list(tx: &mut ReadTx, series: &Series, from: UtcDay, to: UtcDay, limit: i64) -> sqlx::Result<Vec<(UtcDay, Labels)>> {
    let rows: Vec<(UtcDay, String)> = on!(tx, |conn| sqlx::query_as(LIST)
        .bind(&series.deployment)
        .bind(series.epoch)
        .bind(from)
        .bind(to)
        .bind(limit)
        .fetch_all(conn)
        .await)?;
    rows.into_iter().map(|(day, labels)| Ok((day, parse(&labels)?))).collect()
}

/// Every `step`-th day of the series in a range, both ends included, ascending; the last day is one of them. A row that cannot be parsed is an error.
pub async fn sampled(tx: &mut ReadTx, series: &Series, from: UtcDay, to: UtcDay, step: i64) -> sqlx::Result<Vec<StoredDay>> {
    let rows: Vec<(UtcDay, String, Option<String>)> = on!(tx, |conn| sqlx::query_as(SAMPLED)
        .bind(&series.deployment)
        .bind(series.epoch)
        .bind(from)
        .bind(to)
        .bind(step)
        .fetch_all(conn)
        .await)?;
    let stored = |(day, labels, binaries): (UtcDay, String, Option<String>)| {
        Ok(StoredDay { day, labels: parse(&labels)?, binaries: binaries.as_deref().map(parse).transpose()? })
    };
    rows.into_iter().map(stored).collect()
}

fn parse<T: DeserializeOwned>(text: &str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The active devices of all releases at the end of each day since `from`, by deployment; without days that an earlier release stored.
///
/// It reads one number a day: adding up the labels here would parse tens of kilobytes for each.
pub async fn active_since(
    tx: &mut ReadTx,
    deployments: &[&DeploymentId],
    from: UtcDay,
) -> sqlx::Result<HashMap<DeploymentId, BTreeMap<UtcDay, i64>>> {
    let mut found: HashMap<DeploymentId, BTreeMap<UtcDay, i64>> = HashMap::new();
    if deployments.is_empty() {
        return Ok(found);
    }
    let sql = tx.listed(SINCE, deployments.len());
    let rows: Vec<(DeploymentId, UtcDay, i64)> = on!(tx, |conn| {
        let query = sqlx::query_as(sql).persistent(false).bind(from);
        deployments.iter().fold(query, |query, deployment| query.bind(*deployment)).fetch_all(conn).await
    })?;
    for (deployment, day, active) in rows {
        found.entry(deployment).or_default().insert(day, active);
    }
    Ok(found)
}

/// Whether the series has closed days before this one.
pub async fn is_expired(tx: &mut ReadTx, series: &Series, before: UtcDay) -> sqlx::Result<bool> {
    let found: Option<i32> =
        on!(tx, |conn| sqlx::query_scalar(IS_EXPIRED).bind(&series.deployment).bind(series.epoch).bind(before).fetch_optional(conn).await)?;
    Ok(found.is_some())
}

/// Deletes at most `limit` closed days before this one, oldest first, and returns their number.
pub async fn delete_expired(tx: &mut WriteTx, series: &Series, before: UtcDay, limit: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_EXPIRED)
        .bind(&series.deployment)
        .bind(series.epoch)
        .bind(before)
        .bind(limit)
        .execute(conn)
        .await)
}

/// The retention period of the account that owns the deployment's app, in days; none when the deployment was deleted.
pub async fn retention_days(tx: &mut ReadTx, deployment: &DeploymentId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(RETENTION).bind(deployment).fetch_optional(conn).await)
}
