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
//! Due times and leases go by the injected clock; the waiting in between is real, at most a second, and cut short by [`crate::infra::wake::Wake`].
//! Leases and spacing compare the times of several processes: their clocks may differ by seconds, not by half a minute.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};
use shared::time::UnixMillis;

use super::runner::{Job, Rest};
use crate::domain::context::Context;
use crate::domain::error::{AppError, AppResult, Cause, chain};
use crate::domain::outbox::snapshots::{self, Lease};
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

/// Tells publishers of one process apart, whatever the dice.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The job.
#[derive(Debug)]
pub struct Publish(pub Arc<Pusher>);

impl Job for Publish {
    const NAME: &'static str = "publisher";
    // Cut off, a batch leaves its lease behind.
    const GRACE: Duration = Duration::from_secs(5);
    // Well within what health calls a lag.
    const LONGEST_PAUSE: Duration = Duration::from_secs(30);

    async fn round(&mut self) -> AppResult<Rest> {
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
    owner: String,
    /// KV asked for silence until then, Unix milliseconds.
    silent_until: AtomicI64,
}

/// What became of a claimed key.
enum Fate {
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
    pub fn new(app: Arc<Context>, snapshots: Snapshots, kv: &KvConfig) -> Result<Self, Cause> {
        let mut owner = format!("{}-", STARTED.fetch_add(1, Ordering::Relaxed));
        for byte in app.dice.bytes::<16>()? {
            write!(owner, "{byte:02x}")?;
        }
        Ok(Self { app, kv: KvClient::new(kv)?, snapshots, owner, silent_until: AtomicI64::new(0) })
    }

    /// Claims what is due, pushes one batch of it, and settles the rows. Gives how many rows it claimed; 0 also while KV asked for silence.
    pub async fn push_due(&self) -> AppResult<usize> {
        if self.is_silent() {
            return Ok(0);
        }
        let now = self.app.now();
        let mut read = self.app.db.read().await?;
        let due = snapshots::due(&mut read, now, BATCH).await?;
        drop(read);
        if due.is_empty() {
            return Ok(0);
        }
        let until = now.plus_millis(LEASE);
        let mut write = self.app.db.write().await?;
        let leases = snapshots::claim(&mut write, due, &self.owner, now, until).await?;
        write.commit().await?;
        let mut fates = BTreeMap::new();
        let bulk = self.fill(&leases, &mut fates).await?;
        let began = self.app.now();
        let mut pause = 0;
        if began.plus_millis(millis(kv::TIMEOUT)) > until {
            // A write that could outlive its lease is not begun.
            fates.clear();
        } else if !bulk.is_empty() {
            pause = self.send(&bulk, &mut fates).await;
        }
        self.settle(&leases, &fates, began, pause).await?;
        Ok(leases.len())
    }

    /// The claimed keys' snapshots, each version with the state of one transaction. The fates are those that each has when it is sent and all goes well.
    async fn fill(&self, leases: &[Lease], fates: &mut BTreeMap<DeploymentKey, Fate>) -> AppResult<Bulk> {
        let mut bulk = Bulk::new();
        for Lease { key, .. } in leases {
            let fate = match self.snapshots.text(key).await {
                Ok(Some((version, text))) => match bulk.push(key, version, std::str::from_utf8(&text).map_err(AppError::internal)?) {
                    Pushed::In => Fate::Written(version),
                    Pushed::Full => Fate::Untouched,
                    Pushed::TooLarge => {
                        tracing::warn!(bytes = text.len(), "a snapshot is too large for KV");
                        Fate::Refused
                    }
                },
                Ok(None) => Fate::Untouched,
                Err(error @ AppError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    // One deployment that cannot be read must not hold up the others.
                    tracing::error!(cause = %chain(&error), "a snapshot cannot be made");
                    Fate::Refused
                }
            };
            fates.insert(key.clone(), fate);
        }
        Ok(bulk)
    }

    /// Sends the batch and corrects the fates by what is known of it. Gives for how many milliseconds nothing should be sent.
    async fn send(&self, bulk: &Bulk, fates: &mut BTreeMap<DeploymentKey, Fate>) -> i64 {
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
        for (key, fate) in fates.iter_mut().filter(|(_, fate)| matches!(fate, Fate::Written(_))) {
            match &outcome {
                WriteOutcome::Written { refused } if refused.contains(&SnapshotKey(key).name()) => *fate = Fate::Refused,
                WriteOutcome::Written { .. } => {}
                WriteOutcome::RateLimited(_) | WriteOutcome::Refused(_) => *fate = Fate::Refused,
                WriteOutcome::Unknown(_) => *fate = Fate::Lost,
            }
        }
        pause
    }

    /// Closes, repeats or gives back the claimed rows. Should this fail, the leases run out, and then the writes count as unsettled.
    async fn settle(&self, leases: &[Lease], fates: &BTreeMap<DeploymentKey, Fate>, began: UnixMillis, pause: i64) -> AppResult<()> {
        let mut tx = self.app.db.write().await?;
        let now = self.app.now();
        for lease in leases {
            let delay = delay(lease.attempts).max(pause);
            match fates.get(&lease.key) {
                None | Some(Fate::Untouched) => snapshots::free(&mut tx, &lease.key, &self.owner).await?,
                Some(Fate::Refused) => snapshots::refused(&mut tx, &lease.key, &self.owner, now, delay).await?,
                Some(Fate::Lost) => snapshots::lost(&mut tx, &lease.key, &self.owner, now, delay).await?,
                Some(Fate::Written(version)) => drop(snapshots::written(&mut tx, lease, &self.owner, *version, began, now).await?),
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
