//! What reports have left of apps, deployments and histories that are gone: a device's row each, counters, and the days of daily history. There can be
//! millions, so whoever deletes an app leaves them, and they go in steps.
//!
//! Nobody notes what is gone: each step looks at the next apps and deployments that have such rows, round and round. A batch of reports that
//! commits just after a deletion adds to rows of something gone, or makes them anew; the next round finds them. It lowers none of them: before it
//! commits, it looks whether what it lowers is there still ([`crate::domain::counting::service`]), so that nothing must be kept here for batches under
//! way. A device's row stays as long as its app does, also when the deployment that the device was in is deleted: it holds what the device has
//! reported of the others, and which report came last.

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
// Batches of reports lock the same rows. A DELETE of several locks them in an order of its own, so these go one by one, in the order of the batches.
const CLIENTS: &str = "SELECT client FROM report_clients WHERE app_id = $1 ORDER BY client LIMIT $2";
const DELETE_CLIENT: &str = "DELETE FROM report_clients WHERE app_id = $1 AND client = $2";
const OLD_COUNTERS: &str =
    "SELECT epoch, place FROM metric_counters WHERE deployment_id = $1 AND epoch < $2 ORDER BY epoch, place LIMIT $3";
const DELETE_COUNTER: &str = "DELETE FROM metric_counters WHERE deployment_id = $1 AND epoch = $2 AND place = $3";
// These are of nobody else's concern.
const DELETE_DAYS: &str = "DELETE FROM metric_days WHERE deployment_id = $1 AND epoch < $2 \
    AND day IN (SELECT day FROM metric_days WHERE deployment_id = $1 AND epoch < $2 ORDER BY day LIMIT $3)";

/// Every statement of this file.
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

/// Rows of a deployment and one of its counting epochs.
struct Kind {
    /// Finds the next deployment that has some, and its current epoch.
    next: &'static str,
    /// Whether one has some of older epochs.
    has_old: &'static str,
}

const COUNTERS: Kind = Kind { next: NEXT_COUNTED, has_old: HAS_OLD_COUNTERS };
const DAYS: Kind = Kind { next: NEXT_WITH_DAYS, has_old: HAS_OLD_DAYS };

/// Apps and deployments that one step looks at.
const LOOKS: usize = 500;

/// Rows that go in one transaction.
const BATCH: i64 = 500;

/// How far the round has come.
#[derive(Debug, Default)]
pub struct Round {
    app: String,
    counted: String,
    with_days: String,
}

impl Round {
    /// Looks at the next apps and deployments, and deletes what is left of those that are gone.
    pub async fn step(&mut self, db: &Db) -> sqlx::Result<()> {
        // Each batch in a transaction of its own, so that nobody waits for long.
        for app in self.gone_apps(db).await? {
            while delete_clients(db, &app).await? > 0 {}
        }
        for (deployment, epoch) in old(db, &COUNTERS, &mut self.counted).await? {
            while delete_counters(db, &deployment, epoch).await? > 0 {}
        }
        for (deployment, epoch) in old(db, &DAYS, &mut self.with_days).await? {
            while delete_days(db, &deployment, epoch).await? > 0 {}
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
}

/// Those of the next deployments after `at` that have rows which count as absent, and below which epoch those are.
async fn old(db: &Db, kind: &Kind, at: &mut String) -> sqlx::Result<Vec<(DeploymentId, i64)>> {
    let (mut tx, mut old) = (db.read().await?, Vec::new());
    for _ in 0..LOOKS {
        let next: Option<(DeploymentId, Option<i64>)> =
            on!(tx, |conn| sqlx::query_as(kind.next).bind(at.as_str()).fetch_optional(conn).await)?;
        let Some((deployment, epoch)) = next else {
            at.clear();
            break;
        };
        deployment.as_str().clone_into(at);
        let epoch = epoch.unwrap_or(i64::MAX);
        let found: Option<i32> = on!(tx, |conn| sqlx::query_scalar(kind.has_old).bind(&deployment).bind(epoch).fetch_optional(conn).await)?;
        old.extend(found.map(|_| (deployment, epoch)));
    }
    Ok(old)
}

/// Gives how many there were.
async fn delete_clients(db: &Db, app: &AppId) -> sqlx::Result<usize> {
    let mut tx = db.write().await?;
    let clients: Vec<Vec<u8>> = on!(tx, |conn| sqlx::query_scalar(CLIENTS).bind(app).bind(BATCH).fetch_all(conn).await)?;
    for client in &clients {
        on_write!(tx, |conn| sqlx::query(DELETE_CLIENT).bind(app).bind(client).execute(conn).await)?;
    }
    tx.commit().await?;
    Ok(clients.len())
}

/// Gives how many there were.
async fn delete_counters(db: &Db, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<usize> {
    let mut tx = db.write().await?;
    let mut counters: Vec<(i64, String)> =
        on!(tx, |conn| sqlx::query_as(OLD_COUNTERS).bind(deployment).bind(epoch).bind(BATCH).fetch_all(conn).await)?;
    // The database may order names otherwise than batches do.
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
