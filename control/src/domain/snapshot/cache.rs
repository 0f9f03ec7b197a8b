//! Snapshots by deployment key; bounded in bytes, the least recently used goes first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use shared::keys::DeploymentKey;
use shared::lru::Lru;
use shared::snapshot::Snapshot;

/// One version of a deployment's snapshot.
#[derive(Clone, Debug)]
pub struct Built {
    /// The version.
    pub version: i64,
    /// The KV value.
    pub text: Bytes,
    /// The same, parsed; none before a check asked for it.
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Built {
    fn weight(&self) -> usize {
        self.text.len() + self.snapshot.as_ref().map_or(0, |snapshot| snapshot.weight())
    }
}

/// Snapshots of the deployments last asked for. A cache and never the truth: each is used only for the version that the database names.
#[derive(Debug)]
pub(crate) struct SnapshotCache(Mutex<Lru<DeploymentKey, Built>>);

impl SnapshotCache {
    /// An empty cache that holds at most `max_bytes`, or a single snapshot that is larger.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self(Mutex::new(Lru::new(max_bytes)))
    }

    /// The key's snapshot, if it is there in this version.
    pub(crate) fn get(&self, key: &DeploymentKey, version: i64) -> Option<Built> {
        used(&mut self.locked(), key, version).cloned()
    }

    /// The key's parsed snapshot, if it is there in this version.
    pub(crate) fn parsed(&self, key: &DeploymentKey, version: i64) -> Option<Arc<Snapshot>> {
        used(&mut self.locked(), key, version)?.snapshot.clone()
    }

    /// Keeps a snapshot in place of the one it held for the key.
    pub(crate) fn put(&self, key: &DeploymentKey, built: Built) {
        let weight = built.weight();
        self.locked().insert(key.clone(), built, weight);
    }

    /// The bytes that it holds, as it counts them.
    pub(crate) fn bytes(&self) -> usize {
        self.locked().bytes()
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn locked(&self) -> MutexGuard<'_, Lru<DeploymentKey, Built>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A snapshot, where it is of this version.
fn used<'l>(cache: &'l mut Lru<DeploymentKey, Built>, key: &DeploymentKey, version: i64) -> Option<&'l Built> {
    cache.get(key).map(|built| &*built).filter(|built| built.version == version)
}
