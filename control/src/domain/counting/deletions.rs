//! Deletes what reports have left behind for deleted apps, deployments and histories: devices' rows, counters, and days of the daily history. These can be
//! millions of rows, so deleting an app leaves them, and they are deleted in steps.
//!
//! There is no list of what to delete: each step checks the next apps and deployments that have such rows, in an endless cycle. A batch that commits shortly
//! after a deletion may still add to such rows or recreate them; the next cycle finds them. It never lowers them, because before it commits it checks that
//! what it lowers still exists ([`crate::domain::counting::service`]). So this job need not spare rows for batches in progress. A device's row stays as long
//! as its app, even when the deployment it was in is deleted: it records what the device has reported about other deployments, and which report came last.

use shared::ids::{AppId, DeploymentId};

use crate::infra::db::Db;
use crate::{on, on_write};

// Finds the next one by the table's key, however many rows each has.
const NEXT_APP: &str = "SELECT c.app_id, CASE WHEN a.id IS NULL THEN TRUE ELSE FALSE END FROM report_clients c LEFT JOIN apps a ON a.id = c.app_id \
    WHERE c.app_id > $1 ORDER BY c.app_id LIMIT 1";
const NEXT_COUNTED: &str = "SELECT m.deployment_id, d.counting_epoch FROM metric_counters m LEFT JOIN deployments d ON d.id = m.deployment_id \
    WHERE m.deployment_id > $1 ORDER BY m.deployment_id LIMIT 1";
const HAS_OLD_COUNTERS: &str = "SELECT 1 FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 LIMIT 1";
const NEXT_WITH_DAYS: &str = "SELECT m.deployment_id, d.counting_epoch FROM metric_days m LEFT JOIN deployments d ON d.id = m.deployment_id \
    WHERE m.deployment_id > $1 ORDER BY m.deployment_id LIMIT 1";
const HAS_OLD_DAYS: &str = "SELECT 1 FROM metric_days WHERE deployment_id = $1 AND epoch < $2 LIMIT 1";
// Batches of reports lock the same rows. A DELETE of several rows locks them in its own order, so they are deleted one by one, in the batches' order.
const CLIENTS: &str = "SELECT client FROM report_clients WHERE app_id = $1 ORDER BY client LIMIT $2";
const DELETE_CLIENT: &str = "DELETE FROM report_clients WHERE app_id = $1 AND client = $2";
const OLD_COUNTERS: &str =
    "SELECT epoch, place FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 ORDER BY epoch, place LIMIT $3";
const DELETE_COUNTER: &str = "DELETE FROM metric_counters WHERE deployment_id = $1 AND epoch = $2 AND place = $3";
// Nothing else locks these rows.
const DELETE_DAYS: &str = "DELETE FROM metric_days WHERE deployment_id = $1 AND epoch < $2 \
    AND day IN (SELECT day FROM metric_days WHERE deployment_id = $1 AND epoch < $2 ORDER BY day LIMIT $3)";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[
    NEXT_APP,
    NEXT_COUNTED,
    HAS_OLD_COUNTERS,
    NEXT_WITH_DAYS,
    HAS_OLD_DAYS,
    CLIENTS,
    DELETE_CLIENT,
    OLD_COUNTERS,
    DELETE_COUNTER,
    DELETE_DAYS,
];

/// The SQL for one kind of rows that belong to a deployment and a counting epoch.
struct Kind {
    /// Finds the next deployment with such rows, and its current epoch.
    next: &'static str,
    /// Whether a deployment has rows of older epochs.
    has_old: &'static str,
}

const COUNTERS: Kind = Kind { next: NEXT_COUNTED, has_old: HAS_OLD_COUNTERS };
const DAYS: Kind = Kind { next: NEXT_WITH_DAYS, has_old: HAS_OLD_DAYS };

/// Apps and deployments that one step checks.
const MAX_CHECKED: usize = 500;

/// Rows that are deleted in one transaction.
const BATCH: i64 = 500;

/// The position in the cycle.
#[derive(Debug, Default)]
pub struct Round {
    app: String,
    counted: String,
    with_days: String,
}

impl Round {
    /// Checks the next apps and deployments, and deletes what is left of deleted ones.
    pub async fn step(&mut self, db: &Db) -> sqlx::Result<()> {
        // One transaction per batch, so that nobody waits long.
        for app in self.gone_apps(db).await? {
            while delete_clients(db, &app).await? > 0 {}
        }
        for (deployment, epoch) in outdated(db, &COUNTERS, &mut self.counted).await? {
            while delete_counters(db, &deployment, epoch).await? > 0 {}
        }
        for (deployment, epoch) in outdated(db, &DAYS, &mut self.with_days).await? {
            while delete_days(db, &deployment, epoch).await? > 0 {}
        }
        Ok(())
    }

    async fn gone_apps(&mut self, db: &Db) -> sqlx::Result<Vec<AppId>> {
        let (mut tx, mut gone) = (db.read().await?, Vec::new());
        for _ in 0..MAX_CHECKED {
            let next: Option<(AppId, bool)> = on!(tx, |conn| sqlx::query_as(NEXT_APP).bind(&self.app).fetch_optional(conn).await)?;
            let Some((app, is_gone)) = next else {
                self.app.clear();
                break;
            };
            app.as_str().clone_into(&mut self.app);
            gone.extend(is_gone.then_some(app));
        }
        Ok(gone)
    }
}

/// The next deployments after `at` that have outdated rows, each with the epoch below which rows are outdated.
async fn outdated(db: &Db, kind: &Kind, at: &mut String) -> sqlx::Result<Vec<(DeploymentId, i64)>> {
    let (mut tx, mut outdated) = (db.read().await?, Vec::new());
    for _ in 0..MAX_CHECKED {
        let next: Option<(DeploymentId, Option<i64>)> =
            on!(tx, |conn| sqlx::query_as(kind.next).bind(at.as_str()).fetch_optional(conn).await)?;
        let Some((deployment, epoch)) = next else {
            at.clear();
            break;
        };
        deployment.as_str().clone_into(at);
        let epoch = epoch.unwrap_or(i64::MAX);
        let found: Option<i32> = on!(tx, |conn| sqlx::query_scalar(kind.has_old).bind(&deployment).bind(epoch).fetch_optional(conn).await)?;
        outdated.extend(found.map(|_| (deployment, epoch)));
    }
    Ok(outdated)
}

/// Returns how many were deleted.
async fn delete_clients(db: &Db, app: &AppId) -> sqlx::Result<usize> {
    let mut tx = db.write().await?;
    let clients: Vec<Vec<u8>> = on!(tx, |conn| sqlx::query_scalar(CLIENTS).bind(app).bind(BATCH).fetch_all(conn).await)?;
    for client in &clients {
        on_write!(tx, |conn| sqlx::query(DELETE_CLIENT).bind(app).bind(client).execute(conn).await)?;
    }
    tx.commit().await?;
    Ok(clients.len())
}

/// Returns how many were deleted.
async fn delete_counters(db: &Db, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<usize> {
    let mut tx = db.write().await?;
    let mut counters: Vec<(i64, String)> =
        on!(tx, |conn| sqlx::query_as(OLD_COUNTERS).bind(deployment).bind(epoch).bind(BATCH).fetch_all(conn).await)?;
    // The database may sort names differently than batches do.
    counters.sort_unstable();
    for (epoch, place) in &counters {
        on_write!(tx, |conn| sqlx::query(DELETE_COUNTER).bind(deployment).bind(epoch).bind(place).execute(conn).await)?;
    }
    tx.commit().await?;
    Ok(counters.len())
}

async fn delete_days(db: &Db, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<u64> {
    let mut tx = db.write().await?;
    let deleted = on_write!(tx, |conn| sqlx::query(DELETE_DAYS).bind(deployment).bind(epoch).bind(BATCH).execute(conn).await)?;
    tx.commit().await?;
    Ok(deleted)
}
