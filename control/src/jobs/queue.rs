//! What every job that works off the outbox has in common: it looks for what is due, and leases it before it begins.
//!
//! Due times and leases go by the injected clock. They compare the times of several processes, whose clocks may differ by seconds, not by half a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::outbox::{self, Kind, Lease};

/// Tells those who take leases in one process apart, whatever the dice.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The work of one kind, and whom the leases on it belong to.
#[derive(Clone, Debug)]
pub struct Queue {
    context: Arc<Context>,
    kind: Kind,
    owner: String,
}

impl Queue {
    /// With an owner of its own.
    pub fn new(context: &Arc<Context>, kind: Kind) -> Result<Self> {
        let owner = format!("{}-{}", STARTED.fetch_add(1, Ordering::Relaxed), context.request_id()?);
        Ok(Self { context: Arc::clone(context), kind, owner })
    }

    /// Leases at most `limit` rows, those that have been due for longest, for `lease` milliseconds; sorted by their keys. None: nothing is due.
    pub async fn claim(&self, limit: i64, lease: i64) -> Result<Vec<Lease>> {
        loop {
            let now = self.context.now();
            let mut read = self.context.db.read().await?;
            let due = outbox::due(&mut read, self.kind, now, limit).await?;
            drop(read);
            if due.is_empty() {
                return Ok(Vec::new());
            }
            let mut write = self.context.db.write().await?;
            let leases = outbox::claim(&mut write, self.kind, due, &self.owner, now, now.plus_millis(lease)).await?;
            write.commit().await?;
            // Else others were faster with every one of them, and there may be more.
            if !leases.is_empty() {
                return Ok(leases);
            }
        }
    }
}
