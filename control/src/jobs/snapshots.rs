//! Pushes snapshots to Workers KV: claims due rows of the outbox, writes each key's newest state, deletes the row.
//!
//! **KV ends up with the newest snapshot, however many publishers race.** KV keeps the last write, whatever its version. So the last write to arrive must
//! be the newest one. For a key whose row is deleted this holds, because
//! 1. a change raises the key's version and enqueues the key in its own transaction. A row is deleted only in a transaction that locks the key and finds the
//!    version equal to the one just written. A change is either visible there (then the key is written again) or commits afterwards (then it enqueues the
//!    key again);
//! 2. only the owner of its lease deletes a row, and nobody else claims the row before the lease expires or its owner releases it. So two writes of a key
//!    overlap only if a lease expired during a write. A write takes at most half a lease, so this means that its process was stalled;
//! 3. in that case the stalled publisher finds its lease gone when it resumes. It raises the version once more. If the other publisher is still writing,
//!    it then finds a version that it has not written; if it had deleted the row, the raise enqueues the key again. Either way another write follows that starts
//!    after the stalled write ended. If the lease of that write is lost too, the same applies to it;
//! 4. a write with an unknown outcome (no answer, lost connection, a 5xx, a process that died with its lease) may still arrive after a later one. So the
//!    row is `unsettled` for half a minute: it is written again at once, but only a write that starts after that half minute deletes it;
//! 5. the remaining case is a write that arrives even later, from a process that never resumed. The reconcile job finds its version in KV's metadata
//!    and schedules another write of the key.
//!
//! No key is written twice within a second: the end of each write is stored with the key, and the next write is due no earlier than a second after it.
//!
//! The wait between two polls uses real time, at most a second, and [`crate::infra::wake::Wake`] cuts it short. Spacing, like leases ([`super::queue`]),
//! compares times of several processes. [`crate::domain::outbox::adoption`] explains why all this also holds while a process of the previous release
//! pushes from its own table.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};
use shared::time::UnixMillis;

use super::queue::Queue;
use super::runner::{Job, Pause};
use crate::domain::context::Context;
use crate::domain::deployments::snapshots;
use crate::domain::error::{Error, Result, chain};
use crate::domain::outbox::{self, Kind, Lease};
use crate::domain::snapshot::Snapshots;
use crate::infra::kv::KvConfig;
use crate::infra::kv::bulk::{Bulk, Pushed};
use crate::infra::kv::{self, KvClient, WriteOutcome};

/// The lease of a claimed row, in milliseconds: twice the maximum duration of a write.
const LEASE: i64 = 60_000;
/// Maximum number of keys in one batch: few enough that the transaction that reads them is short.
const BATCH: i64 = 100;
/// The maximum time between two polls of the outbox.
const TICK: Duration = Duration::from_secs(1);
/// The pause between two batches. Cloudflare allows four requests a second for the whole account; with many changes, the batches get larger.
const SPACING: Duration = Duration::from_millis(500);

/// The job.
#[derive(Debug)]
pub struct Publish(pub Arc<Pusher>);

impl Job for Publish {
    const NAME: &'static str = "publisher";
    // An aborted batch would leave its leases behind.
    const GRACE: Duration = Duration::from_secs(5);
    // Well below what the health check reports as lag.
    const MAX_PAUSE: Duration = Duration::from_secs(30);

    async fn round(&mut self) -> Result<Pause> {
        Ok(if self.0.push_due().await? == 0 { Pause::AtMost(TICK) } else { Pause::For(SPACING) })
    }

    async fn woken(&mut self) {
        self.0.app.publisher.woken().await;
    }
}

/// A publisher, with its own identity and KV client.
#[derive(Debug)]
pub struct Pusher {
    pub(crate) app: Arc<Context>,
    pub(crate) kv: KvClient,
    pub(crate) snapshots: Snapshots,
    queue: Queue,
    /// KV asked for no requests until then, in Unix milliseconds.
    silent_until: AtomicI64,
    /// The key whose value was verified last ([`super::reconcile`]).
    pub(crate) verified: Mutex<Option<DeploymentKey>>,
}

/// A claimed key, and the outcome of its write.
struct Push {
    lease: Lease,
    key: DeploymentKey,
    outcome: Outcome,
}

enum Outcome {
    /// Not sent.
    Untouched,
    /// Certainly not written.
    Refused,
    /// Unknown.
    Lost,
    /// Written, with this version.
    Written(i64),
}

impl Pusher {
    /// Creates a publisher with a unique identity.
    pub fn new(app: Arc<Context>, snapshots: Snapshots, kv: &KvConfig) -> Result<Self> {
        let queue = Queue::new(&app, Kind::Snapshot)?;
        Ok(Self {
            app,
            kv: KvClient::new(kv).map_err(Error::Internal)?,
            snapshots,
            queue,
            silent_until: AtomicI64::new(0),
            verified: Mutex::default(),
        })
    }

    /// Claims due rows, pushes one batch, and settles the rows. Returns how many rows it claimed; 0 also while KV asked for no requests.
    pub async fn push_due(&self) -> Result<usize> {
        if self.is_paused() {
            return Ok(0);
        }
        let leases = self.queue.claim(BATCH, LEASE).await?;
        let Some(until) = leases.first().map(|lease| lease.until) else { return Ok(0) };
        let (bulk, mut pushes) = self.fill(leases).await?;
        let began = self.app.now();
        let mut pause = 0;
        if began.plus_millis(millis(kv::TIMEOUT)) > until {
            // Do not start a write that could outlive its lease.
            for push in &mut pushes {
                push.outcome = Outcome::Untouched;
            }
        } else if !bulk.is_empty() {
            pause = self.send(&bulk, &mut pushes).await;
        }
        self.settle(&pushes, began, pause).await?;
        Ok(pushes.len())
    }

    /// Collects the claimed keys' snapshots; each version and its text come from one transaction. The outcomes assume that the write succeeds.
    async fn fill(&self, leases: Vec<Lease>) -> Result<(Bulk, Vec<Push>)> {
        let mut bulk = Bulk::new();
        let mut pushes = Vec::with_capacity(leases.len());
        for lease in leases {
            let key = DeploymentKey::try_from(lease.key.clone()).map_err(Error::internal)?;
            let outcome = match self.snapshots.text(&key).await {
                Ok(Some((version, text))) => {
                    match bulk.push(&key, &self.snapshots.metadata(version), std::str::from_utf8(&text).map_err(Error::internal)?) {
                        Pushed::In => Outcome::Written(version),
                        Pushed::Full => Outcome::Untouched,
                        Pushed::TooLarge => {
                            tracing::warn!(bytes = text.len(), "snapshot is too large for KV");
                            Outcome::Refused
                        }
                    }
                }
                Ok(None) => Outcome::Untouched,
                Err(error @ Error::Unavailable(_)) => return Err(error),
                Err(error) => {
                    // One unreadable deployment must not block the others.
                    tracing::error!(cause = %chain(&error), "snapshot could not be built");
                    Outcome::Refused
                }
            };
            pushes.push(Push { lease, key, outcome });
        }
        Ok((bulk, pushes))
    }

    /// Sends the batch and updates the outcomes. Returns for how many milliseconds nothing should be sent.
    async fn send(&self, bulk: &Bulk, pushes: &mut [Push]) -> i64 {
        let outcome = self.kv.write(bulk).await;
        let mut pause = 0;
        match &outcome {
            WriteOutcome::Written { refused } if refused.is_empty() => tracing::debug!(keys = bulk.len(), "snapshots pushed to KV"),
            WriteOutcome::Written { refused } => tracing::warn!(keys = bulk.len(), refused = refused.len(), "KV refused some snapshots"),
            WriteOutcome::RateLimited(wait) => {
                pause = self.pause_for(*wait);
                tracing::warn!(keys = bulk.len(), seconds = wait.as_secs(), "KV rate limit reached");
            }
            WriteOutcome::Refused(reason) => tracing::warn!(keys = bulk.len(), reason, "KV refused snapshots"),
            WriteOutcome::Unknown(reason) => tracing::warn!(keys = bulk.len(), reason, "outcome of a KV write is unknown"),
        }
        for push in pushes.iter_mut().filter(|push| matches!(push.outcome, Outcome::Written(_))) {
            match &outcome {
                WriteOutcome::Written { refused } if refused.contains(&SnapshotKey(&push.key).name()) => push.outcome = Outcome::Refused,
                WriteOutcome::Written { .. } => {}
                WriteOutcome::RateLimited(_) | WriteOutcome::Refused(_) => push.outcome = Outcome::Refused,
                WriteOutcome::Unknown(_) => push.outcome = Outcome::Lost,
            }
        }
        pause
    }

    /// Deletes, retries or releases the claimed rows. If this fails, the leases expire, and the writes count as unsettled.
    async fn settle(&self, pushes: &[Push], began: UnixMillis, pause: i64) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        let now = self.app.now();
        for Push { lease, outcome, .. } in pushes {
            let delay = delay(lease.attempts).max(pause);
            match outcome {
                Outcome::Untouched => {
                    outbox::release(&mut tx, lease).await?;
                }
                Outcome::Refused => snapshots::record_refusal(&mut tx, lease, now, delay).await?,
                Outcome::Lost => snapshots::record_unknown_outcome(&mut tx, lease, now, delay).await?,
                Outcome::Written(version) => drop(snapshots::record_success(&mut tx, lease, *version, began, now).await?),
            }
        }
        Ok(tx.commit().await?)
    }

    /// Whether KV asked for no requests at this time. A clock that was set back does not extend it.
    pub(crate) fn is_paused(&self) -> bool {
        let left = self.silent_until.load(Ordering::Relaxed) - self.app.now().as_millis();
        (1..=millis(kv::MAX_RETRY_AFTER)).contains(&left)
    }

    /// Stops all KV requests of this process for this long. Returns it in milliseconds.
    pub(crate) fn pause_for(&self, wait: Duration) -> i64 {
        let wait = millis(wait);
        self.silent_until.fetch_max(self.app.now().plus_millis(wait).as_millis(), Ordering::Relaxed);
        wait
    }
}

/// The back-off after `attempts` earlier failures, in milliseconds: 1 s, doubled each time, at most 60 s.
fn delay(attempts: i64) -> i64 {
    let doublings = attempts.clamp(0, 6);
    (1_000_i64 << doublings).min(60_000)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::jobs::snapshots::delay;

    #[test]
    fn the_delay_doubles_up_to_a_minute() {
        let delays: Vec<i64> = (0..8).map(delay).collect();
        assert_eq!(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!((delay(-1), delay(i64::MAX)), (1_000, 60_000));
    }
}
