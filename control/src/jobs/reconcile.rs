//! Compares the versions in KV with those in the database, at startup and every ten minutes, and schedules repairs of differences.
//!
//! A key that KV lacks, or has with a lower or unreadable version, is written again as it is. A key that KV has with a *higher* version (the database
//! was restored from a backup) is first raised above it, because no isolate accepts a lower version than it has seen. Names that are not in the
//! database are ignored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};
use shared::time::UnixMillis;

use super::runner::{Job, Pause};
use super::snapshots::Pusher;
use crate::domain::deployments::snapshots;
use crate::domain::error::{Error, Result};
use crate::domain::snapshot::repo;
use crate::infra::kv::ListError;

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
/// No valid version is this high (it is a time in milliseconds). A higher one was written by hand and counts as unreadable.
const MAX_VERSION: i64 = 1 << 53;

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Keys that KV lacked, or had with a lower or unreadable version.
    pub behind: usize,
    /// Keys that KV had with a higher version.
    pub ahead: usize,
}

/// Why a comparison failed.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// KV's keys could not be listed.
    #[error("KV's keys cannot be listed")]
    List(#[from] ListError),
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
}

/// Runs one comparison.
pub async fn once(pusher: &Pusher) -> Result<Repairs, ReconcileError> {
    // Read before KV is listed: otherwise a version that is raised in between would look lower in KV.
    let mut known = known(pusher).await?;
    let mut repairs = Vec::new();
    let mut cursor = None;
    loop {
        let page = pusher.kv.list(cursor.as_deref()).await.inspect_err(|error| {
            if let ListError::RateLimited(wait) = error {
                pusher.pause_for(*wait);
            }
        })?;
        for (name, seen) in page.keys {
            let key = name.strip_prefix(<SnapshotKey<'_> as KvKey>::PREFIX).and_then(|key| DeploymentKey::try_from(key).ok());
            let Some((key, row)) = key.and_then(|key| known.remove_entry(&key)) else { continue };
            if let Some(repair) = compare(row, seen.filter(|seen| *seen < MAX_VERSION)) {
                repairs.push((key, repair));
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    repairs.extend(known.into_iter().filter_map(|(key, row)| compare(row, None).map(|repair| (key, repair))));
    Ok(apply(pusher, repairs).await?)
}

/// A key's version in the database. A key in flux is left to the publisher or to the next comparison, unless KV is ahead.
#[derive(Clone, Copy)]
struct ExpectedVersion {
    version: i64,
    is_in_flux: bool,
}

async fn known(pusher: &Pusher) -> Result<HashMap<DeploymentKey, ExpectedVersion>, Error> {
    let now = pusher.app.now();
    let mut tx = pusher.app.db.read().await?;
    let rows = repo::versions(&mut tx).await?;
    let is_recent = |written: UnixMillis| (0..LIST_LAG).contains(&(now.as_millis() - written.as_millis()));
    Ok(rows
        .into_iter()
        .map(|row| {
            let is_in_flux = row.is_open() || is_recent(row.snapshot_written_time);
            (row.deployment_key, ExpectedVersion { version: row.snapshot_version, is_in_flux })
        })
        .collect())
}

fn compare(known: ExpectedVersion, seen: Option<i64>) -> Option<Repair> {
    match seen {
        Some(seen) if seen > known.version => Some(Repair::RaiseAbove(seen)),
        Some(seen) if seen == known.version => None,
        _ if known.is_in_flux => None,
        _ => Some(Repair::Write),
    }
}

async fn apply(pusher: &Pusher, mut repairs: Vec<(DeploymentKey, Repair)>) -> Result<Repairs, Error> {
    repairs.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    let mut done = Repairs::default();
    for chunk in repairs.chunks(CHUNK) {
        let mut tx = pusher.app.db.write().await?;
        let now = pusher.app.now();
        for (key, repair) in chunk {
            match repair {
                Repair::Write => {
                    snapshots::repeat(&mut tx, key, now).await?;
                    done.behind += 1;
                }
                // False if a change has raised it since.
                Repair::RaiseAbove(seen) => done.ahead += usize::from(snapshots::raise_above(&mut tx, key, *seen, now).await?),
            }
        }
        tx.commit().await?;
    }
    if done != Repairs::default() {
        tracing::warn!(behind = done.behind, ahead = done.ahead, "KV differs from the database; repairing");
        pusher.app.publisher.wake();
    }
    Ok(done)
}
