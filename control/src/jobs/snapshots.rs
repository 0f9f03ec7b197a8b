//! Pushes snapshots to Workers KV: claims due rows of the outbox, writes each key's newest state, closes the row.
//!
//! **KV ends with the newest snapshot, however many publishers race.** KV takes the last write, whatever its version, so what counts is that
//! the last write to arrive is the newest one. A key whose row is closed has that, because
//! 1. a change raises the key's version and opens the row in its own transaction, and a row is closed only in a transaction that locks the key
//!    and finds the version equal to the one just written: a change is either seen there (then the key is written again) or commits afterwards
//!    (then it opens a row);
//! 2. a row is closed only by the owner of its lease, and nobody else claims it before the lease ends or its owner gives it back. So two writes
//!    of a key overlap only when a lease ran out with a write under way, though a write lasts at most half a lease: its process stood still;
//! 3. in that case the slow one, when it wakes up, finds its lease gone. It raises the version once more. The faster one, still under way,
//!    then finds a version that it has not written; or it had closed the row, then this opens it. Either way a write follows that begins
//!    after the slow one's ended, and if the lease of that one is lost too, the same holds for it;
//! 4. a write whose end nobody saw (no answer, connection lost, a 5xx, a process that died and left its lease behind) may still arrive after a
//!    later one. From then on the row is `unsettled` for half a minute: it is written again at once, but only a write that begins after that
//!    half minute closes it;
//! 5. what remains is a write that arrives later than that from a process that never woke up again. The reconcile finds its version in KV's
//!    metadata and has the key written again.
//!
//! No key is written twice within a second: the end of each write is kept with the key, and the next one is not due before a second after it.
//!
//! The waiting between two looks is real, at most a second, and cut short by [`crate::infra::wake::Wake`]. Spacing, like leases ([`super::queue`]), compares
//! the times of several processes. Why all this stays true while a process of the release before this one pushes from a table of its own is argued at
//! [`crate::domain::outbox::adoption`].

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};
use shared::time::UnixMillis;

use super::queue::Queue;
use super::runner::{Job, Rest};
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, chain};
use crate::domain::outbox::{self, Kind, Lease, snapshots};
use crate::domain::snapshot::Snapshots;
use crate::infra::kv::KvConfig;
use crate::infra::kv::bulk::{Bulk, Pushed};
use crate::infra::kv::{self, KvClient, WriteOutcome};

/// How long a claimed row is this publisher's, in milliseconds: twice the longest write.
const LEASE: i64 = 60_000;
/// Keys in one batch: few enough that the transaction that reads them is short.
const BATCH: i64 = 100;
/// The longest wait for the next look at the outbox.
const TICK: Duration = Duration::from_secs(1);
/// Between two batches: Cloudflare takes four requests a second from the whole account, and a crowd of changes makes larger batches of it.
const SPACING: Duration = Duration::from_millis(500);

/// The job.
#[derive(Debug)]
pub struct Publish(pub Arc<Pusher>);

impl Job for Publish {
    const NAME: &'static str = "publisher";
    // Cut off, a batch leaves its lease behind.
    const GRACE: Duration = Duration::from_secs(5);
    // Well within what health calls a lag.
    const LONGEST_PAUSE: Duration = Duration::from_secs(30);

    async fn round(&mut self) -> Result<Rest> {
        Ok(if self.0.push_due().await? == 0 { Rest::AtMost(TICK) } else { Rest::For(SPACING) })
    }

    async fn woken(&mut self) {
        self.0.app.publisher.woken().await;
    }
}

/// What pushes: one publisher's identity and its way to KV.
#[derive(Debug)]
pub struct Pusher {
    pub(crate) app: Arc<Context>,
    pub(crate) kv: KvClient,
    snapshots: Snapshots,
    queue: Queue,
    /// KV asked for silence until then, Unix milliseconds.
    silent_until: AtomicI64,
}

/// A claimed key, and what became of it.
struct Push {
    lease: Lease,
    key: DeploymentKey,
    outcome: Outcome,
}

enum Outcome {
    /// Nothing was sent.
    Untouched,
    /// Not written, for certain.
    Refused,
    /// Nobody knows.
    Lost,
    /// In KV, in this version.
    Written(i64),
}

impl Pusher {
    /// A publisher with an identity of its own.
    pub fn new(app: Arc<Context>, snapshots: Snapshots, kv: &KvConfig) -> Result<Self> {
        let queue = Queue::new(&app, Kind::Snapshot)?;
        Ok(Self { app, kv: KvClient::new(kv).map_err(Error::Internal)?, snapshots, queue, silent_until: AtomicI64::new(0) })
    }

    /// Claims what is due, pushes one batch of it, and settles the rows. Gives how many rows it claimed; 0 also while KV asked for silence.
    pub async fn push_due(&self) -> Result<usize> {
        if self.is_silent() {
            return Ok(0);
        }
        let leases = self.queue.claim(BATCH, LEASE).await?;
        let Some(until) = leases.first().map(|lease| lease.until) else { return Ok(0) };
        let (bulk, mut pushes) = self.fill(leases).await?;
        let began = self.app.now();
        let mut pause = 0;
        if began.plus_millis(millis(kv::TIMEOUT)) > until {
            // A write that could outlive its lease is not begun.
            for push in &mut pushes {
                push.outcome = Outcome::Untouched;
            }
        } else if !bulk.is_empty() {
            pause = self.send(&bulk, &mut pushes).await;
        }
        self.settle(&pushes, began, pause).await?;
        Ok(pushes.len())
    }

    /// The claimed keys' snapshots, each version with the state of one transaction. The outcomes are those that each has when it is sent and all goes well.
    async fn fill(&self, leases: Vec<Lease>) -> Result<(Bulk, Vec<Push>)> {
        let mut bulk = Bulk::new();
        let mut pushes = Vec::with_capacity(leases.len());
        for lease in leases {
            let key = DeploymentKey::try_from(lease.key.clone()).map_err(Error::internal)?;
            let outcome = match self.snapshots.text(&key).await {
                Ok(Some((version, text))) => match bulk.push(&key, version, std::str::from_utf8(&text).map_err(Error::internal)?) {
                    Pushed::In => Outcome::Written(version),
                    Pushed::Full => Outcome::Untouched,
                    Pushed::TooLarge => {
                        tracing::warn!(bytes = text.len(), "a snapshot is too large for KV");
                        Outcome::Refused
                    }
                },
                Ok(None) => Outcome::Untouched,
                Err(error @ Error::Unavailable(_)) => return Err(error),
                Err(error) => {
                    // One deployment that cannot be read must not hold up the others.
                    tracing::error!(cause = %chain(&error), "a snapshot cannot be made");
                    Outcome::Refused
                }
            };
            pushes.push(Push { lease, key, outcome });
        }
        Ok((bulk, pushes))
    }

    /// Sends the batch and corrects the outcomes by what is known of it. Gives for how many milliseconds nothing should be sent.
    async fn send(&self, bulk: &Bulk, pushes: &mut [Push]) -> i64 {
        let outcome = self.kv.write(bulk).await;
        let mut pause = 0;
        match &outcome {
            WriteOutcome::Written { refused } if refused.is_empty() => tracing::debug!(keys = bulk.len(), "snapshots were pushed to KV"),
            WriteOutcome::Written { refused } => tracing::warn!(keys = bulk.len(), refused = refused.len(), "KV refused some snapshots"),
            WriteOutcome::RateLimited(wait) => {
                pause = self.keep_silent(*wait);
                tracing::warn!(keys = bulk.len(), seconds = wait.as_secs(), "KV's rate limit is reached");
            }
            WriteOutcome::Refused(reason) => tracing::warn!(keys = bulk.len(), reason, "KV refused snapshots"),
            WriteOutcome::Unknown(reason) => tracing::warn!(keys = bulk.len(), reason, "it is not known whether KV took snapshots"),
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

    /// Closes, repeats or gives back the claimed rows. Should this fail, the leases run out, and then the writes count as unsettled.
    async fn settle(&self, pushes: &[Push], began: UnixMillis, pause: i64) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        let now = self.app.now();
        for Push { lease, outcome, .. } in pushes {
            let delay = delay(lease.attempts).max(pause);
            match outcome {
                Outcome::Untouched => outbox::free(&mut tx, lease).await?,
                Outcome::Refused => snapshots::refused(&mut tx, lease, now, delay).await?,
                Outcome::Lost => snapshots::lost(&mut tx, lease, now, delay).await?,
                Outcome::Written(version) => drop(snapshots::written(&mut tx, lease, *version, began, now).await?),
            }
        }
        Ok(tx.commit().await?)
    }

    /// Whether KV asked for silence. A clock that was set back does not prolong it.
    pub(crate) fn is_silent(&self) -> bool {
        let left = self.silent_until.load(Ordering::Relaxed) - self.app.now().as_millis();
        (1..=millis(kv::MOST_RETRY_AFTER)).contains(&left)
    }

    /// Keeps everything of this process from KV for so long; gives it in milliseconds.
    pub(crate) fn keep_silent(&self, wait: Duration) -> i64 {
        let wait = millis(wait);
        self.silent_until.fetch_max(self.app.now().plus_millis(wait).as_millis(), Ordering::Relaxed);
        wait
    }
}

/// How long a key waits after it failed `attempts` times before: 1 s, doubled each time, at most 60 s; in milliseconds.
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
