//! Compares the versions in KV with those in the database, at startup and every ten minutes, and schedules repairs of differences.
//!
//! A key that KV lacks, or has with a lower or unreadable version, is written again as it is. A key that KV has with a *higher* version (the database
//! was restored from a backup) is first raised above it, because no isolate accepts a lower version than it has seen. Names that are not in the
//! database are ignored.
//!
//! A snapshot that has not changed is signed and written again before the edge finds it old, and once the secret that signs has changed. This waits
//! behind changes: such writes are spread over time.
//!
//! The list has only the metadata of the values, and anyone who can write to KV can write that too. So each comparison also reads some of the values,
//! in turn, and verifies them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};
use shared::snapshot::{Distrust, Snapshot};
use shared::time::UnixMillis;
use shared::wire::edge::{Distrusted, EdgeCounters};

use super::runner::{Job, Pause};
use super::snapshots::Pusher;
use crate::domain::deployments::snapshots;
use crate::domain::edge_counters;
use crate::domain::error::{Error, Result, chain};
use crate::domain::snapshot::repo;
use crate::infra::kv::KvError;

/// The time between two comparisons, in milliseconds.
const PERIOD: i64 = 10 * 60_000;
/// The time until the next comparison after a failure, in milliseconds.
const RETRY: i64 = 60_000;
/// How far KV's list may lag behind its writes, in milliseconds. A key written since then is left to the next comparison.
const LIST_LAG: i64 = 60_000;
/// How often the clock is checked.
const TICK: Duration = Duration::from_secs(1);
/// Keys repaired in one transaction.
const CHUNK: usize = 100;
/// A snapshot is signed again when its last write is this long ago, in milliseconds: 10 hours. The written value may have been signed an hour earlier,
/// and the next comparison is ten minutes later, so that none is older than 12 hours.
const SIGN_AGAIN: u64 = 10 * 3_600_000;
/// A value in KV that was signed longer ago is not the one that was written last, in milliseconds.
const SIGNED_WITHIN: u64 = 13 * 3_600_000;
/// The least number of snapshots that one comparison signs again. With more than six times as many, it signs a sixth of them.
const SIGNED_AT_ONCE: usize = 1_000;
/// The time between two of these writes, in milliseconds.
const SIGNING_SPACING: i64 = 20;
/// Values that one comparison reads and verifies.
const VERIFIED_AT_ONCE: usize = 100;
/// Values with metadata of a higher version that one comparison reads.
const AHEAD_AT_ONCE: usize = 100;
/// After so many failed reads one after the other, a comparison reads no more values.
const MOST_FAILURES: usize = 3;
/// No valid version is this high (it is a time in milliseconds). A higher one was written by hand and counts as unreadable.
const MAX_VERSION: i64 = 1 << 53;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Keys that KV lacked, or had with a lower or unreadable version.
    pub behind: usize,
    /// Keys that KV had with a higher version.
    pub ahead: usize,
    /// Keys whose value in KV was not what its metadata says: forged, altered, or an earlier one.
    pub distrusted: usize,
    /// Keys whose snapshot has not changed, and is signed again.
    pub signed_again: usize,
}

/// Why a comparison failed.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// KV's keys could not be listed.
    #[error("KV's keys cannot be listed")]
    List(#[from] KvError),
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] Error),
}

/// The job; it uses the injected clock.
#[derive(Debug)]
pub struct Reconcile {
    pusher: Arc<Pusher>,
    next: UnixMillis,
}

impl Reconcile {
    /// Creates the job; the first comparison is due at once.
    pub fn new(pusher: Arc<Pusher>) -> Self {
        Self { next: pusher.app.now(), pusher }
    }
}

impl Job for Reconcile {
    const NAME: &'static str = "reconcile";

    async fn round(&mut self) -> Result<Pause> {
        let now = self.pusher.app.now();
        // A clock that was set back must not delay the next comparison.
        let is_due = now >= self.next || self.next > now.plus_millis(PERIOD);
        if !is_due || self.pusher.is_paused() {
            return Ok(Pause::Idle(TICK));
        }
        // A comparison lists all of KV, so a failed one is retried later than other jobs' rounds.
        self.next = now.plus_millis(RETRY);
        once(&self.pusher).await.map_err(Error::internal)?;
        self.next = now.plus_millis(PERIOD);
        Ok(Pause::For(TICK))
    }
}

/// The repair of a key.
enum Repair {
    /// Write it as it is.
    Write,
    /// Raise it above this version and write it.
    RaiseAbove(i64),
    /// Write it as it is: its value cannot be trusted.
    Restore,
    /// Sign and write it again, some time. It was last written then.
    Sign(UnixMillis),
}

impl Repair {
    /// When the snapshot was last written, if it is only to be signed again.
    fn signs(&self) -> Option<UnixMillis> {
        match self {
            Self::Sign(written) => Some(*written),
            Self::Write | Self::RaiseAbove(_) | Self::Restore => None,
        }
    }
}

/// Runs one comparison.
pub async fn once(pusher: &Pusher) -> Result<Repairs, ReconcileError> {
    // Read before KV is listed: otherwise a version that is raised in between would look lower in KV.
    let mut unseen = known(pusher).await?;
    let mut found = Findings {
        now: pusher.app.now(),
        signer: pusher.snapshots.metadata(0).signer,
        repairs: Vec::new(),
        seen: Vec::new(),
        ahead: Vec::new(),
    };
    let total = unseen.len();
    let mut cursor = None;
    loop {
        let page = pusher.kv.list(cursor.as_deref()).await.inspect_err(|error| pause(pusher, error))?;
        for (name, seen) in page.keys {
            let key = name.strip_prefix(<SnapshotKey<'_> as KvKey>::PREFIX).and_then(|key| DeploymentKey::try_from(key).ok());
            let Some((key, row)) = key.and_then(|key| unseen.remove_entry(&key)) else { continue };
            found.compare(key, row, seen.filter(|seen| seen.version < MAX_VERSION));
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    for (key, row) in unseen {
        found.compare(key, row, None);
    }
    let Findings { mut repairs, seen, ahead, .. } = found;
    defer(&mut repairs, SIGNED_AT_ONCE.max(total / 6));
    repairs.extend(verify(pusher, seen).await?);
    repairs.extend(verify_ahead(pusher, ahead).await?);
    Ok(apply(pusher, repairs).await?)
}

/// A key in the database. A key in flux is left to the publisher or to the next comparison, unless KV is ahead.
#[derive(Clone, Copy)]
struct Expected {
    version: i64,
    written: UnixMillis,
    is_in_flux: bool,
    is_tombstone: bool,
}

async fn known(pusher: &Pusher) -> Result<HashMap<DeploymentKey, Expected>, Error> {
    let now = pusher.app.now();
    let mut tx = pusher.app.db.read().await?;
    let rows = repo::versions(&mut tx).await?;
    let is_recent = |written: UnixMillis| (0..LIST_LAG).contains(&(now.as_millis() - written.as_millis()));
    Ok(rows
        .into_iter()
        .map(|row| {
            let (is_in_flux, is_tombstone) = (row.is_open() || is_recent(row.snapshot_written_time), row.is_tombstone());
            let expected = Expected { version: row.snapshot_version, written: row.snapshot_written_time, is_in_flux, is_tombstone };
            (row.deployment_key, expected)
        })
        .collect())
}

/// What the comparison with KV's list has found.
struct Findings {
    now: UnixMillis,
    /// The name of the key that signs now.
    signer: Option<String>,
    repairs: Vec<(DeploymentKey, Repair)>,
    /// Keys that need no repair, as far as their metadata says.
    seen: Vec<(DeploymentKey, Expected)>,
    /// Keys that KV has in a higher version, as far as their metadata says.
    ahead: Vec<(DeploymentKey, Expected)>,
}

impl Findings {
    fn compare(&mut self, key: DeploymentKey, known: Expected, seen: Option<SnapshotMetadata>) {
        let repair = match seen {
            // Anyone who can write to KV can claim that; only what was signed here is believed.
            Some(seen) if seen.version > known.version => {
                self.ahead.push((key, known));
                return;
            }
            _ if known.is_in_flux => return,
            Some(seen) if seen.version == known.version => {
                // Tombstones do not get old, but without the secret that signed them, nobody can verify them.
                let is_due = !known.is_tombstone && self.now.as_millis().abs_diff(known.written.as_millis()) >= SIGN_AGAIN;
                if !is_due && seen.signer == self.signer {
                    self.seen.push((key, known));
                    return;
                }
                Repair::Sign(known.written)
            }
            _ => Repair::Write,
        };
        self.repairs.push((key, repair));
    }
}

/// Leaves all but `count` of the snapshots to sign to the next comparisons: those that were written last.
fn defer(repairs: &mut Vec<(DeploymentKey, Repair)>, count: usize) {
    let mut times: Vec<UnixMillis> = repairs.iter().filter_map(|(_, repair)| repair.signs()).collect();
    if times.len() <= count {
        return;
    }
    times.sort_unstable();
    let latest = times.get(count.saturating_sub(1)).copied().unwrap_or(UnixMillis(0));
    let mut left = count;
    repairs.retain(|(_, repair)| match repair.signs() {
        Some(written) if written > latest || left == 0 => false,
        Some(_) => {
            left -= 1;
            true
        }
        None => true,
    });
}

/// Reads and verifies some of the values, in the order of their keys, each time from where the last comparison ended.
async fn verify(pusher: &Pusher, mut keys: Vec<(DeploymentKey, Expected)>) -> Result<Vec<(DeploymentKey, Repair)>, Error> {
    keys.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    let last = pusher.verified.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let start = keys.partition_point(|(key, _)| last.as_ref().is_some_and(|last| key <= last));
    keys.rotate_left(start);
    keys.truncate(VERIFIED_AT_ONCE);
    let (mut repairs, mut reads) = (Vec::new(), Reads { pusher, failures: 0 });
    for (key, expected) in keys {
        let value = reads.read(&key).await;
        if reads.is_over() {
            break;
        }
        if let Some(value) = value {
            repairs.extend(judge(pusher, &key, expected, value.as_deref()).await?.map(|repair| (key.clone(), repair)));
        }
        // One that can never be read must not keep the others from being verified.
        *pusher.verified.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
    }
    Ok(repairs)
}

/// Reads values from KV, until too many fail.
struct Reads<'p> {
    pusher: &'p Pusher,
    failures: usize,
}

impl Reads<'_> {
    /// A value; `Some(None)` if KV has none, `None` if it cannot be read now.
    async fn read(&mut self, key: &DeploymentKey) -> Option<Option<Vec<u8>>> {
        let read = self.pusher.kv.read(key).await.inspect_err(|error| {
            pause(self.pusher, error);
            tracing::warn!(cause = %chain(error), "a value in KV could not be verified");
        });
        self.failures += usize::from(read.is_err());
        read.ok()
    }

    /// Whether to read no more for now.
    fn is_over(&self) -> bool {
        self.failures >= MOST_FAILURES || self.pusher.is_paused()
    }
}

/// Reads and verifies values whose metadata claims a higher version than there is. One that was signed here with a higher version is from before the database
/// was restored from a backup; any other is restored. What cannot be read now is left to the next comparison.
async fn verify_ahead(pusher: &Pusher, mut keys: Vec<(DeploymentKey, Expected)>) -> Result<Vec<(DeploymentKey, Repair)>, Error> {
    // Each gets its turn, wherever it is in the list.
    keys.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    let rounds = usize::try_from(pusher.app.now().as_millis() / PERIOD).unwrap_or_default();
    let start = rounds.wrapping_mul(AHEAD_AT_ONCE) % keys.len().max(1);
    keys.rotate_left(start);
    keys.truncate(AHEAD_AT_ONCE);
    let (mut repairs, mut reads) = (Vec::new(), Reads { pusher, failures: 0 });
    for (key, expected) in keys {
        let value = reads.read(&key).await;
        if reads.is_over() {
            break;
        }
        let Some(value) = value else { continue };
        // Changed since it was listed: the next comparison sees what became of it.
        if pusher.snapshots.version(&key).await? != Some(expected.version) {
            continue;
        }
        let repair = match judge(pusher, &key, expected, value.as_deref()).await? {
            // The value is the right one, and only its metadata lies.
            None if !expected.is_in_flux => Some(Repair::Restore),
            Some(Repair::Restore) if expected.is_in_flux => None,
            repair => repair,
        };
        repairs.extend(repair.map(|repair| (key, repair)));
    }
    Ok(repairs)
}

/// The repair that a value needs, if any. A value whose key has changed since it was listed is left to the next comparison.
async fn judge(pusher: &Pusher, key: &DeploymentKey, expected: Expected, value: Option<&[u8]>) -> Result<Option<Repair>, Error> {
    let json = value.ok_or("it is missing").and_then(|value| {
        pusher.app.settings.snapshot_keys.verify(key, value).map_err(|distrust| match distrust {
            Distrust::Unsigned => "it is not signed",
            Distrust::WrongSignature => "its signature is wrong",
        })
    });
    let now = pusher.app.now().as_millis();
    let fault = match json.map(Snapshot::parse) {
        Err(why) => why,
        Ok(Err(_)) => "it cannot be read",
        Ok(Ok(snapshot)) if snapshot.version() > expected.version => return Ok(Some(Repair::RaiseAbove(snapshot.version()))),
        Ok(Ok(snapshot)) if snapshot.version() < expected.version => "it is an earlier one",
        Ok(Ok(snapshot)) => {
            let is_recent = |signed: UnixMillis| now.abs_diff(signed.as_millis()) <= SIGNED_WITHIN;
            if snapshot.is_tombstone() || snapshot.signed().is_some_and(is_recent) {
                return Ok(None);
            }
            "it was signed too long ago"
        }
    };
    if pusher.snapshots.version(key).await? != Some(expected.version) {
        return Ok(None);
    }
    tracing::warn!(why = fault, "a value in KV is not what was written; restoring it");
    Ok(Some(Repair::Restore))
}

/// Stops all requests to KV for as long as it asked.
fn pause(pusher: &Pusher, error: &KvError) {
    if let KvError::RateLimited(wait) = error {
        pusher.pause_for(*wait);
    }
}

async fn apply(pusher: &Pusher, mut repairs: Vec<(DeploymentKey, Repair)>) -> Result<Repairs, Error> {
    repairs.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    let mut done = Repairs::default();
    let began = pusher.app.now();
    for chunk in repairs.chunks(CHUNK) {
        let mut tx = pusher.app.db.write().await?;
        let now = pusher.app.now();
        for (key, repair) in chunk {
            match repair {
                Repair::Write => {
                    snapshots::repeat(&mut tx, key, now).await?;
                    done.behind += 1;
                }
                Repair::Restore => {
                    snapshots::repeat(&mut tx, key, now).await?;
                    done.distrusted += 1;
                }
                Repair::Sign(_) => {
                    let waits = i64::try_from(done.signed_again).unwrap_or(i64::MAX).saturating_mul(SIGNING_SPACING);
                    snapshots::repeat_later(&mut tx, key, now, began.plus_millis(waits)).await?;
                    done.signed_again += 1;
                }
                // False if a change has raised it since.
                Repair::RaiseAbove(seen) => done.ahead += usize::from(snapshots::raise_above(&mut tx, key, *seen, now).await?),
            }
        }
        tx.commit().await?;
    }
    if done.behind + done.ahead + done.distrusted > 0 {
        let Repairs { behind, ahead, distrusted, .. } = done;
        tracing::warn!(behind, ahead, distrusted, "KV differs from the database; repairing");
    }
    if done.distrusted > 0 {
        let counts = Distrusted { distrusted: u32::try_from(done.distrusted).unwrap_or(u32::MAX), ..Distrusted::default() };
        let call = EdgeCounters { isolate: "comparison".to_owned(), sequence: began.as_millis(), counts };
        edge_counters::record(&pusher.app.db, &call, began).await?;
    }
    if done.signed_again > 0 {
        tracing::info!(keys = done.signed_again, "signing snapshots again");
    }
    if done != Repairs::default() {
        pusher.app.publisher.wake();
    }
    Ok(done)
}
