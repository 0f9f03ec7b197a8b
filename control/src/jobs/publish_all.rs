//! Writes every snapshot to KV once more, on the operator's request: `snapshots publish --all`.
//!
//! This process only fills the outbox; the publisher of a running server does the writing. So it can be interrupted and run again at any time.

use std::time::Duration;

use shared::keys::DeploymentKey;
use tokio::time::sleep;

use crate::domain::deployments::snapshots;
use crate::domain::error::Result;
use crate::domain::outbox::{self, Kind};
use crate::infra::clock::Clock;
use crate::infra::db::Db;

/// Keys enqueued in one transaction.
const CHUNK: i64 = 100;
/// The time between two looks at the outbox.
const TICK: Duration = Duration::from_secs(1);
/// After so many looks without a snapshot written, no server is running, or KV refuses.
const PATIENCE: u32 = 60;

/// How the writing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All are in KV.
    Published(u64),
    /// So many are still queued, and none was written for a minute.
    Stuck(u64),
}

/// Enqueues every snapshot, then waits until the running server has written them. `tell` gets the number that is left, first that of all.
pub async fn publish_all(db: &Db, clock: &Clock, tell: &mut dyn FnMut(u64)) -> Result<Outcome> {
    let all = enqueue(db, clock).await?;
    let until = clock.now();
    let (mut left, mut patience) = (all, PATIENCE);
    tell(all);
    loop {
        let open = outbox::older(&mut db.read().await?, Kind::Snapshot, until).await?;
        if open == 0 {
            return Ok(Outcome::Published(all));
        }
        patience = if open < left { PATIENCE } else { patience.saturating_sub(1) };
        if patience == 0 {
            return Ok(Outcome::Stuck(open));
        }
        if open < left {
            tell(open);
        }
        left = open;
        sleep(TICK).await;
    }
}

/// Enqueues every key, those of deleted deployments included, and returns how many there are.
async fn enqueue(db: &Db, clock: &Clock) -> Result<u64> {
    let (mut count, mut last) = (0, String::new());
    loop {
        let keys: Vec<DeploymentKey> = snapshots::keys_after(&mut db.read().await?, &last, CHUNK).await?;
        let Some(newest) = keys.last() else { return Ok(count) };
        newest.as_str().clone_into(&mut last);
        let mut tx = db.write().await?;
        for key in &keys {
            snapshots::repeat(&mut tx, key, clock.now()).await?;
            count += 1;
        }
        tx.commit().await?;
    }
}
