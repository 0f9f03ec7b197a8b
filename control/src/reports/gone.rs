//! What reports have left of apps, deployments and histories that are gone: a device's row each, and counters. There can be millions, so whoever deletes an
//! app leaves them, and they go in steps.
//!
//! Nobody notes what is gone: each step looks at the next apps and deployments that have such rows, round and round. A batch of reports that
//! commits just after a deletion adds to rows of something gone, or makes them anew; the next round finds them. It lowers none of them: before it
//! commits, it looks whether what it lowers is there still ([`crate::reports::service`]), so that nothing must be kept here for batches under
//! way. A device's row stays as long as its app does, also when the deployment that the device was in is deleted: it holds what the device has
//! reported of the others, and which report came last.

use shared::ids::{AppId, DeploymentId};

use crate::db::Db;
use crate::{on, on_write};

// Finds the next one by the table's key, however many rows each has.
const NEXT_APP: &str = "SELECT c.app_id, CASE WHEN a.id IS NULL THEN TRUE ELSE FALSE END FROM report_clients c LEFT JOIN apps a ON a.id = c.app_id \
    WHERE c.app_id > $1 ORDER BY c.app_id LIMIT 1";
const NEXT_DEPLOYMENT: &str = "SELECT m.deployment_id, d.counting_epoch FROM metric_counters m LEFT JOIN deployments d ON d.id = m.deployment_id \
    WHERE m.deployment_id > $1 ORDER BY m.deployment_id LIMIT 1";
const HAS_OLD_COUNTERS: &str = "SELECT 1 FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 LIMIT 1";
const DELETE_CLIENTS: &str = "DELETE FROM report_clients WHERE app_id = $1 \
    AND client IN (SELECT client FROM report_clients WHERE app_id = $1 ORDER BY client LIMIT $2)";
const DELETE_COUNTERS: &str = "DELETE FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 \
    AND place IN (SELECT place FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 ORDER BY place LIMIT $3)";

/// Every statement of this file.
pub const SQL: &[&str] = &[NEXT_APP, NEXT_DEPLOYMENT, HAS_OLD_COUNTERS, DELETE_CLIENTS, DELETE_COUNTERS];

/// Apps and deployments that one step looks at.
const LOOKS: usize = 500;

/// Rows that go in one transaction.
const BATCH: i64 = 500;

/// How far the round has come.
#[derive(Debug, Default)]
pub struct Round {
    app: String,
    deployment: String,
}

impl Round {
    /// Looks at the next apps and deployments, and deletes what is left of those that are gone.
    pub async fn step(&mut self, db: &Db) -> sqlx::Result<()> {
        // Each batch in a transaction of its own, so that nobody waits for long.
        for app in self.gone_apps(db).await? {
            while delete_clients(db, &app).await? > 0 {}
        }
        for (deployment, epoch) in self.old_counters(db).await? {
            while delete_counters(db, &deployment, epoch).await? > 0 {}
        }
        Ok(())
    }

    async fn gone_apps(&mut self, db: &Db) -> sqlx::Result<Vec<AppId>> {
        let (mut tx, mut gone) = (db.read().await?, Vec::new());
        for _ in 0..LOOKS {
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

    /// Deployments that have counters which count as absent, and below which epoch those are.
    async fn old_counters(&mut self, db: &Db) -> sqlx::Result<Vec<(DeploymentId, i64)>> {
        let (mut tx, mut old) = (db.read().await?, Vec::new());
        for _ in 0..LOOKS {
            let next: Option<(DeploymentId, Option<i64>)> =
                on!(tx, |conn| sqlx::query_as(NEXT_DEPLOYMENT).bind(&self.deployment).fetch_optional(conn).await)?;
            let Some((deployment, epoch)) = next else {
                self.deployment.clear();
                break;
            };
            deployment.as_str().clone_into(&mut self.deployment);
            let epoch = epoch.unwrap_or(i64::MAX);
            let found: Option<i32> =
                on!(tx, |conn| sqlx::query_scalar(HAS_OLD_COUNTERS).bind(&deployment).bind(epoch).fetch_optional(conn).await)?;
            old.extend(found.map(|_| (deployment, epoch)));
        }
        Ok(old)
    }
}

async fn delete_clients(db: &Db, app: &AppId) -> sqlx::Result<u64> {
    let mut tx = db.write().await?;
    let deleted = on_write!(tx, |conn| sqlx::query(DELETE_CLIENTS).bind(app).bind(BATCH).execute(conn).await)?;
    tx.commit().await?;
    Ok(deleted)
}

async fn delete_counters(db: &Db, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<u64> {
    let mut tx = db.write().await?;
    let deleted = on_write!(tx, |conn| sqlx::query(DELETE_COUNTERS).bind(deployment).bind(epoch).bind(BATCH).execute(conn).await)?;
    tx.commit().await?;
    Ok(deleted)
}
