//! SQL of the counters.
//!
//! Counter rows are added to. Those of older epochs count as absent, and [`crate::reports::gone`] deletes them. A row that a batch lowers is of
//! the deployment's epoch still when the batch has locked it, else the batch is counted anew; and a row of that epoch is deleted by nobody. So no
//! counter, of whatever epoch, is negative at any time.

use std::collections::BTreeSet;

use shared::ids::DeploymentId;
use sqlx::QueryBuilder;

use crate::db::{ReadTx, WriteTx};
use crate::reports::counting::{Changes, Place};
use crate::reports::repo::CHUNK;
use crate::{on, on_write};

const LIST: &str = "SELECT place, active, downloaded, installed, failed FROM metric_counters WHERE deployment_id = $1 AND epoch = $2";
const PLACES: &str = "SELECT place FROM metric_counters WHERE deployment_id = $1 AND epoch = $2";

/// Every statement of this file that is not a list.
pub const SQL: &[&str] = &[LIST, PLACES];

/// The counts of one place.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CounterRow {
    /// A label, a binary version or `other`.
    pub place: String,
    /// Clients that are there.
    pub active: i64,
    /// Clients, and reports without client, that have loaded it.
    pub downloaded: i64,
    /// … that have run it.
    pub installed: i64,
    /// … that have fallen back from it.
    pub failed: i64,
}

/// Every counter of the deployment's epoch, in no order.
pub async fn list(tx: &mut ReadTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<Vec<CounterRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(deployment).bind(epoch).fetch_all(conn).await)
}

/// The names of the deployment's counters, in no order.
pub async fn places(tx: &mut ReadTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(PLACES).bind(deployment).bind(epoch).fetch_all(conn).await)
}

/// Those of these counters that exist.
pub async fn existing(tx: &mut ReadTx, wanted: &[&Place]) -> sqlx::Result<BTreeSet<Place>> {
    let mut found = BTreeSet::new();
    for chunk in wanted.chunks(CHUNK) {
        let rows: Vec<(DeploymentId, i64, String)> = on!(tx, |conn| {
            // SQLite would answer (deployment_id, epoch, place) IN (VALUES …) by reading the whole index. It keeps the order of a CROSS JOIN.
            let mut query = QueryBuilder::new("WITH wanted (deployment, current, bucket) AS (");
            query.push_values(chunk, |mut row, place| {
                row.push_bind(place.deployment.as_str()).push_bind(place.epoch).push_bind(place.bucket.as_str());
            });
            query.push(
                ") SELECT deployment_id, epoch, place FROM wanted CROSS JOIN metric_counters \
                WHERE deployment_id = deployment AND epoch = current AND place = bucket",
            );
            query.build_query_as().persistent(false).fetch_all(conn).await
        })?;
        found.extend(rows.into_iter().map(|(deployment, epoch, bucket)| Place { deployment, epoch, bucket }));
    }
    Ok(found)
}

/// Adds to the counters, in key order, and makes those that are missing.
pub async fn add(tx: &mut WriteTx, changes: &Changes) -> sqlx::Result<()> {
    let changes: Vec<_> = changes.0.iter().collect();
    for chunk in changes.chunks(CHUNK) {
        on_write!(tx, |conn| {
            let mut query =
                QueryBuilder::new("INSERT INTO metric_counters (deployment_id, epoch, place, active, downloaded, installed, failed) ");
            query.push_values(chunk, |mut row, (place, change)| {
                row.push_bind(place.deployment.as_str())
                    .push_bind(place.epoch)
                    .push_bind(place.bucket.as_str())
                    .push_bind(change.active)
                    .push_bind(change.downloaded)
                    .push_bind(change.installed)
                    .push_bind(change.failed);
            });
            query.push(
                " ON CONFLICT (deployment_id, epoch, place) DO UPDATE SET active = metric_counters.active + excluded.active, \
                downloaded = metric_counters.downloaded + excluded.downloaded, \
                installed = metric_counters.installed + excluded.installed, failed = metric_counters.failed + excluded.failed",
            );
            query.build().persistent(false).execute(conn).await
        })?;
    }
    Ok(())
}
