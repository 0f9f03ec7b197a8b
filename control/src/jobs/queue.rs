//! The common part of jobs that process the outbox: they find due rows, and lease them before they start.
//!
//! Due times and leases use the injected clock. They compare times of several processes, whose clocks may differ by seconds, but not by half a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::outbox::{self, Kind, Lease};

/// Makes lease owners within one process unique, even with test randomness.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The outbox rows of one kind, and the owner of this process's leases on them.
#[derive(Clone, Debug)]
pub struct Queue {
    context: Arc<Context>,
    kind: Kind,
    owner: String,
}

impl Queue {
    /// Creates a queue with a unique owner.
    pub fn new(context: &Arc<Context>, kind: Kind) -> Result<Self> {
        let owner = format!("{}-{}", STARTED.fetch_add(1, Ordering::Relaxed), context.request_id()?);
        Ok(Self { context: Arc::clone(context), kind, owner })
    }

    /// Leases the row with this key for `lease` milliseconds, unless it is not due any more.
    pub async fn claim_key(&self, key: String, lease: i64) -> Result<Option<Lease>> {
        let now = self.context.now();
        let mut write = self.context.db.write().await?;
        let leases = outbox::claim(&mut write, self.kind, vec![key], &self.owner, now, now.plus_millis(lease)).await?;
        write.commit().await?;
        Ok(leases.into_iter().next())
    }

    /// Leases at most `limit` rows, longest due first, for `lease` milliseconds. Returns them sorted by key; empty if nothing is due.
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
            // Otherwise others leased all of them first; there may be more due rows.
            if !leases.is_empty() {
                return Ok(leases);
            }
        }
    }
}
