//! SQL of the counters.
//!
//! Counters change only by addition. Rows of older epochs count as absent, and [`crate::domain::counting::deletions`] deletes them. If a batch lowers a row that
//! is no longer of the deployment's epoch once locked, the batch is counted again. A row of the current epoch is deleted only while it is empty
//! ([`crate::domain::counting::versions`]). So no counter, of any epoch, is ever negative.
//!
//! Each row also keeps what the daily history needs: the day of its last change (`day`), the open day (`open_day`), and, after a later change, its values at
//! the open day's end (`before_…`). See [`crate::domain::counting::history`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shared::ids::{AppId, DeploymentId};
use shared::time::UtcDay;

use crate::domain::counting::repo::CHUNK;
use crate::domain::counting::rules::{Changes, Place};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const LIST: &str =
    "SELECT place, active, downloaded, installed, failed, bytes_saved FROM metric_counters WHERE deployment_id = $1 AND epoch = $2";
const PLACES: &str = "SELECT place FROM metric_counters WHERE deployment_id = $1 AND epoch = $2";
const TOTALS: &str = "SELECT deployments.id AS deployment_id, CAST(SUM(active) AS BIGINT) AS active, \
    CAST(SUM(CASE WHEN place = newest THEN active ELSE 0 END) AS BIGINT) AS current, \
    CAST(SUM(CASE WHEN place = newest THEN installed ELSE 0 END) AS BIGINT) AS installed, \
    CAST(SUM(CASE WHEN place = newest THEN failed ELSE 0 END) AS BIGINT) AS failed FROM deployments \
    JOIN metric_counters ON metric_counters.deployment_id = deployments.id AND epoch = counting_epoch \
    LEFT JOIN (SELECT deployment_id, 'v' || CAST(MAX(label) AS TEXT) AS newest FROM releases \
        WHERE deployment_id IN (SELECT id FROM deployments WHERE app_id = $1) AND NOT is_disabled GROUP BY deployment_id) labels \
        ON labels.deployment_id = deployments.id WHERE deployments.app_id = $1 GROUP BY deployments.id";
const TOTALS_OF: &str = "WITH wanted (wanted_id, newest) AS (VALUES [(?, ?)]) SELECT wanted_id AS deployment_id, CAST(SUM(active) AS BIGINT) AS active, \
    CAST(SUM(CASE WHEN place = newest THEN active ELSE 0 END) AS BIGINT) AS current, \
    CAST(SUM(CASE WHEN place = newest THEN installed ELSE 0 END) AS BIGINT) AS installed, \
    CAST(SUM(CASE WHEN place = newest THEN failed ELSE 0 END) AS BIGINT) AS failed FROM wanted CROSS JOIN deployments CROSS JOIN metric_counters \
    WHERE deployments.id = wanted_id AND metric_counters.deployment_id = wanted_id AND epoch = counting_epoch GROUP BY wanted_id";

// SQLite would run (deployment_id, epoch, place) IN (VALUES …) by reading the whole index. It keeps the order of a CROSS JOIN.
const EXISTING: &str = "WITH wanted (deployment, current, bucket) AS (VALUES [(?, ?, ?)]) \
    SELECT deployment_id, epoch, place FROM wanted CROSS JOIN metric_counters \
    WHERE deployment_id = deployment AND epoch = CAST(current AS BIGINT) AND place = bucket";
const OPEN_DAYS: &str = "WITH wanted (number, deployment, current) AS (VALUES [(?, ?, ?)]) SELECT CAST(number AS BIGINT), \
    (SELECT MAX(day) FROM metric_days WHERE deployment_id = deployment AND epoch = CAST(current AS BIGINT)) FROM wanted";
// As long as the last change was no later than the open day, the current values are those at its end.
const ADD: &str = "INSERT INTO metric_counters (deployment_id, epoch, place, active, downloaded, installed, failed, bytes_saved, first_day, day, \
    open_day) VALUES [(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)] ON CONFLICT (deployment_id, epoch, place) DO UPDATE SET \
    active = metric_counters.active + excluded.active, downloaded = metric_counters.downloaded + excluded.downloaded, \
    installed = metric_counters.installed + excluded.installed, failed = metric_counters.failed + excluded.failed, \
    bytes_saved = metric_counters.bytes_saved + excluded.bytes_saved, \
    before_active = CASE WHEN metric_counters.day <= metric_counters.open_day THEN metric_counters.active \
        ELSE metric_counters.before_active END, \
    before_downloaded = CASE WHEN metric_counters.day <= metric_counters.open_day THEN metric_counters.downloaded \
        ELSE metric_counters.before_downloaded END, \
    before_installed = CASE WHEN metric_counters.day <= metric_counters.open_day THEN metric_counters.installed \
        ELSE metric_counters.before_installed END, \
    before_failed = CASE WHEN metric_counters.day <= metric_counters.open_day THEN metric_counters.failed \
        ELSE metric_counters.before_failed END, \
    day = CASE WHEN excluded.day > metric_counters.day THEN excluded.day ELSE metric_counters.day END";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[LIST, PLACES, TOTALS, TOTALS_OF, EXISTING, OPEN_DAYS, ADD];

/// The counts of one label or binary version.
#[derive(Clone, Debug, Default, sqlx::FromRow)]
pub struct CounterRow {
    /// A label, a binary version or `other`.
    pub place: String,
    /// Devices that currently run it.
    pub active: i64,
    /// Devices that have downloaded it, plus reports without a client ID.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have rolled back from it.
    pub failed: i64,
    /// What diffs have saved them, an estimate in bytes.
    pub bytes_saved: i64,
}

/// The counts of a deployment as a whole, and of its newest release that is not disabled.
#[derive(Clone, Copy, Debug, Default, sqlx::FromRow)]
pub struct Totals {
    /// Devices that currently run any release or the app's binary.
    pub active: i64,
    /// Devices that currently run that release.
    pub current: i64,
    /// Devices that have run it, plus reports without a client ID.
    pub installed: i64,
    /// … that have rolled back from it.
    pub failed: i64,
}

/// A deployment and its totals.
#[derive(sqlx::FromRow)]
struct TotalsRow {
    deployment_id: DeploymentId,
    #[sqlx(flatten)]
    totals: Totals,
}

/// The totals of the app's deployments that have counters.
pub async fn totals(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<HashMap<DeploymentId, Totals>> {
    let rows: Vec<TotalsRow> = on!(tx, |conn| sqlx::query_as(TOTALS).bind(app).fetch_all(conn).await)?;
    Ok(rows.into_iter().map(|row| (row.deployment_id, row.totals)).collect())
}

/// The totals of those of these deployments that have counters. Each is given with the label of its newest release that is not disabled, or an empty
/// text.
pub async fn totals_of(tx: &mut ReadTx, wanted: &[(&DeploymentId, String)]) -> sqlx::Result<HashMap<DeploymentId, Totals>> {
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = tx.listed(TOTALS_OF, wanted.len());
    let rows: Vec<TotalsRow> = on!(tx, |conn| {
        let mut query = sqlx::query_as(sql).persistent(false);
        for (deployment, newest) in wanted {
            query = query.bind(*deployment).bind(newest);
        }
        query.fetch_all(conn).await
    })?;
    Ok(rows.into_iter().map(|row| (row.deployment_id, row.totals)).collect())
}

/// All counters of the deployment's epoch, unordered.
pub async fn list(tx: &mut ReadTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<Vec<CounterRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(deployment).bind(epoch).fetch_all(conn).await)
}

/// The names of the deployment's counters, unordered.
pub async fn places(tx: &mut ReadTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(PLACES).bind(deployment).bind(epoch).fetch_all(conn).await)
}

/// The existing ones among these counters.
pub async fn existing(tx: &mut ReadTx, wanted: &[&Place]) -> sqlx::Result<BTreeSet<Place>> {
    let mut found = BTreeSet::new();
    for chunk in wanted.chunks(CHUNK) {
        let sql = tx.listed(EXISTING, chunk.len());
        let rows: Vec<(DeploymentId, i64, String)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for place in chunk {
                query = query.bind(&place.deployment).bind(place.epoch).bind(&place.bucket);
            }
            query.fetch_all(conn).await
        })?;
        found.extend(rows.into_iter().map(|(deployment, epoch, bucket)| Place { deployment, epoch, bucket }));
    }
    Ok(found)
}

/// The newest day, which is the open one, of each deployment and epoch that has one.
async fn open_days<'c>(tx: &mut ReadTx, wanted: &BTreeSet<(&'c str, i64)>) -> sqlx::Result<BTreeMap<(&'c str, i64), UtcDay>> {
    let wanted: Vec<_> = wanted.iter().copied().collect();
    let mut days = BTreeMap::new();
    for chunk in wanted.chunks(CHUNK) {
        let sql = tx.listed(OPEN_DAYS, chunk.len());
        let rows: Vec<(i64, Option<UtcDay>)> = on!(tx, |conn| {
            let mut query = sqlx::query_as(sql).persistent(false);
            for (number, (deployment, epoch)) in (0_i64..).zip(chunk) {
                query = query.bind(number).bind(*deployment).bind(*epoch);
            }
            query.fetch_all(conn).await
        })?;
        let found = rows.into_iter().filter_map(|(number, day)| Some((*chunk.get(usize::try_from(number).ok()?)?, day?)));
        days.extend(found);
    }
    Ok(days)
}

/// Adds to the counters in key order, and creates missing ones. `today` is the UTC day on which the reports are counted. A row's day never goes back,
/// whatever the clock does. A new row's day is not before the open day, because it would otherwise count toward the open day's end.
pub async fn add(tx: &mut WriteTx, changes: &Changes, today: UtcDay) -> sqlx::Result<()> {
    let changes: Vec<_> = changes.0.iter().collect();
    let series = changes.iter().map(|(place, _)| (place.deployment.as_str(), place.epoch)).collect();
    let open = open_days(tx, &series).await?;
    for chunk in changes.chunks(CHUNK) {
        let sql = tx.listed(ADD, chunk.len());
        on_write!(tx, |conn| {
            let mut query = sqlx::query(sql).persistent(false);
            for (place, increments) in chunk {
                let change = increments.total;
                let day = open.get(&(place.deployment.as_str(), place.epoch)).map_or(today, |open| today.max(*open));
                query = query.bind(&place.deployment).bind(place.epoch).bind(&place.bucket).bind(change.active);
                query = query.bind(change.downloaded).bind(change.installed).bind(change.failed).bind(increments.bytes_saved);
                query = query.bind(day).bind(day).bind(day);
            }
            query.execute(conn).await
        })?;
    }
    Ok(())
}
