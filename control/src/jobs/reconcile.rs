//! Compares the versions that KV holds with the database's, every ten minutes and at the start, and has repaired what differs.
//!
//! A key that KV lacks, or has in a lower version or one that cannot be read, is written again as it is. One that KV has in a *higher* version
//! (the database was restored from a copy) is first raised above it, since no isolate takes a lower version than it has seen. Names that the
//! database does not know are left alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey};
use shared::time::UnixMillis;

use super::runner::{Job, Rest};
use super::snapshots::Pusher;
use crate::domain::error::{Error, Result};
use crate::domain::outbox::snapshots;
use crate::domain::snapshot::repo;
use crate::infra::kv::ListError;

/// From one comparison to the next, in milliseconds.
const PERIOD: i64 = 10 * 60_000;
/// From a failed one to the next, in milliseconds.
const RETRY: i64 = 60_000;
/// KV's list may lag behind its writes for so long, in milliseconds: a key written since then is left to the next comparison.
const LIST_LAG: i64 = 60_000;
/// How often the clock is looked at.
const TICK: Duration = Duration::from_secs(1);
/// Keys repaired in one transaction.
const CHUNK: usize = 100;
/// No version comes near this (it is a time in milliseconds): such a one was written by hand and is not followed.
const MOST_VERSION: i64 = 1 << 53;

/// What a comparison found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Keys that KV lacked or had in a lower or unreadable version.
    pub behind: usize,
    /// Keys that KV had in a higher version.
    pub ahead: usize,
}

/// Why a comparison was not made.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// KV could not be asked.
    #[error("KV's keys cannot be listed")]
    List(#[from] ListError),
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] Error),
}

/// The job; the time goes by the injected clock.
#[derive(Debug)]
pub struct Reconcile {
    pusher: Arc<Pusher>,
    next: UnixMillis,
}

impl Reconcile {
    /// At once, and then again and again.
    pub fn new(pusher: Arc<Pusher>) -> Self {
        Self { next: pusher.app.now(), pusher }
    }
}

impl Job for Reconcile {
    const NAME: &'static str = "reconcile";

    async fn round(&mut self) -> Result<Rest> {
        let now = self.pusher.app.now();
        // A clock that was set back must not hold this up until it has caught up.
        if (now >= self.next || self.next > now.plus_millis(PERIOD)) && !self.pusher.is_silent() {
            // A comparison lists all of KV: a failed one is not repeated as soon as other jobs' rounds are.
            self.next = now.plus_millis(RETRY);
            once(&self.pusher).await.map_err(Error::internal)?;
            self.next = now.plus_millis(PERIOD);
        }
        Ok(Rest::For(TICK))
    }
}

/// What KV must be brought to.
enum Repair {
    /// Written as it is.
    Write,
    /// Raised above this version and written.
    RaiseAbove(i64),
}

/// One comparison.
pub async fn once(pusher: &Pusher) -> Result<Repairs, ReconcileError> {
    // Read before KV is listed: then a version that is lower there cannot be one that was only just raised here.
    let mut known = known(pusher).await?;
    let mut repairs = Vec::new();
    let mut cursor = None;
    loop {
        let page = pusher.kv.list(cursor.as_deref()).await.inspect_err(|error| {
            if let ListError::RateLimited(wait) = error {
                pusher.keep_silent(*wait);
            }
        })?;
        for (name, seen) in page.keys {
            let Some((key, row)) = name.strip_prefix(<SnapshotKey<'_> as KvKey>::PREFIX).and_then(|key| known.remove_entry(key)) else {
                continue;
            };
            if let Some(repair) = judge(row, seen.filter(|seen| *seen < MOST_VERSION)) {
                repairs.push((key, repair));
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    repairs.extend(known.into_iter().filter_map(|(key, row)| judge(row, None).map(|repair| (key, repair))));
    Ok(apply(pusher, repairs).await?)
}

/// A key's version here, and whether it is left to the publisher or to the next comparison unless KV is ahead.
#[derive(Clone, Copy)]
struct Known {
    version: i64,
    is_in_flux: bool,
}

async fn known(pusher: &Pusher) -> Result<HashMap<String, Known>, Error> {
    let now = pusher.app.now();
    let mut tx = pusher.app.db.read().await?;
    let rows = repo::versions(&mut tx).await?;
    let is_recent = |written: UnixMillis| (0..LIST_LAG).contains(&(now.as_millis() - written.as_millis()));
    Ok(rows
        .into_iter()
        .map(|row| {
            let is_in_flux = row.is_open() || is_recent(row.snapshot_written_time);
            (row.deployment_key, Known { version: row.snapshot_version, is_in_flux })
        })
        .collect())
}

fn judge(known: Known, seen: Option<i64>) -> Option<Repair> {
    match seen {
        Some(seen) if seen > known.version => Some(Repair::RaiseAbove(seen)),
        Some(seen) if seen == known.version => None,
        _ if known.is_in_flux => None,
        _ => Some(Repair::Write),
    }
}

async fn apply(pusher: &Pusher, repairs: Vec<(String, Repair)>) -> Result<Repairs, Error> {
    let mut repairs: Vec<(DeploymentKey, Repair)> =
        repairs.into_iter().filter_map(|(key, repair)| Some((DeploymentKey::try_from(key).ok()?, repair))).collect();
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
                // False when a change has raised it since.
                Repair::RaiseAbove(seen) => done.ahead += usize::from(snapshots::raise_above(&mut tx, key, *seen, now).await?),
            }
        }
        tx.commit().await?;
    }
    if done != Repairs::default() {
        tracing::warn!(behind = done.behind, ahead = done.ahead, "KV differed from the database and is being repaired");
        pusher.app.publisher.wake();
    }
    Ok(done)
}
