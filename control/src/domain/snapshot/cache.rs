//! An LRU cache of snapshots by deployment key, bounded in bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use shared::keys::DeploymentKey;
use shared::lru::Lru;
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;

/// One version of a deployment's snapshot.
#[derive(Clone, Debug)]
pub struct Built {
    /// The version.
    pub version: i64,
    /// The KV value, signed.
    pub text: Bytes,
    /// When it was signed.
    pub signed: UnixMillis,
    /// The parsed snapshot; `None` until a check needs it.
    pub snapshot: Option<Arc<Snapshot>>,
}

/// How long a signed value is used, in milliseconds: an hour. Far shorter than the edge accepts, long enough that it need not be signed for every
/// request.
const SIGNED_FOR: u64 = 3_600_000;

impl Built {
    /// Whether the value was signed within the last hour. A clock that was set back does not extend it.
    pub(crate) fn is_signed_recently(&self, now: UnixMillis) -> bool {
        now.as_millis().abs_diff(self.signed.as_millis()) < SIGNED_FOR
    }

    fn weight(&self) -> usize {
        self.text.len() + self.snapshot.as_ref().map_or(0, |snapshot| snapshot.weight())
    }
}

/// Recently used snapshots. A cache only: an entry is used only if its version is the database's current one.
#[derive(Debug)]
pub(crate) struct SnapshotCache(Mutex<Lru<DeploymentKey, Built>>);

impl SnapshotCache {
    /// An empty cache that holds at most `max_bytes`, or a single snapshot that is larger.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self(Mutex::new(Lru::new(max_bytes)))
    }

    /// The key's snapshot, if cached in this version.
    pub(crate) fn get(&self, key: &DeploymentKey, version: i64) -> Option<Built> {
        used(&mut self.locked(), key, version).cloned()
    }

    /// The key's parsed snapshot, if cached in this version.
    pub(crate) fn parsed(&self, key: &DeploymentKey, version: i64) -> Option<Arc<Snapshot>> {
        used(&mut self.locked(), key, version)?.snapshot.clone()
    }

    /// Stores a snapshot, replacing the key's previous one.
    pub(crate) fn put(&self, key: &DeploymentKey, built: Built) {
        let weight = built.weight();
        self.locked().insert(key.clone(), built, weight);
    }

    /// The size of all entries, as the cache counts it.
    pub(crate) fn bytes(&self) -> usize {
        self.locked().bytes()
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn locked(&self) -> MutexGuard<'_, Lru<DeploymentKey, Built>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The key's entry, if it has this version.
fn used<'l>(cache: &'l mut Lru<DeploymentKey, Built>, key: &DeploymentKey, version: i64) -> Option<&'l Built> {
    cache.get(key).map(|built| &*built).filter(|built| built.version == version)
}
