//! Snapshots by deployment key; bounded in bytes, the least recently used goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;

/// What an entry takes besides its snapshot and its key: its places in both maps, rounded up.
const ENTRY_OVERHEAD: usize = 512;

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
pub(crate) struct SnapshotCache {
    most_bytes: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    entries: HashMap<DeploymentKey, Entry>,
    /// Ticks of use to keys, oldest first; one per entry.
    order: BTreeMap<u64, DeploymentKey>,
    tick: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    built: Built,
    weight: usize,
    used: u64,
}

impl SnapshotCache {
    /// An empty cache that holds at most `most_bytes`, or a single snapshot that is larger.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, held: Mutex::default() }
    }

    /// The key's snapshot, if it is there in this version.
    pub(crate) fn get(&self, key: &DeploymentKey, version: i64) -> Option<Built> {
        self.held().used(key, version).cloned()
    }

    /// The key's parsed snapshot, if it is there in this version.
    pub(crate) fn parsed(&self, key: &DeploymentKey, version: i64) -> Option<Arc<Snapshot>> {
        self.held().used(key, version)?.snapshot.clone()
    }

    /// Keeps a snapshot in place of the one it held for the key.
    pub(crate) fn put(&self, key: &DeploymentKey, built: Built) {
        let mut held = self.held();
        held.drop_entry(key);
        let weight = built.weight() + 2 * key.as_str().len() + ENTRY_OVERHEAD;
        held.tick += 1;
        let used = held.tick;
        held.bytes += weight;
        held.order.insert(used, key.clone());
        held.entries.insert(key.clone(), Entry { built, weight, used });
        // The one just put stays, however large: built anew for every check, it would cost the most.
        while held.bytes > self.most_bytes
            && held.order.len() > 1
            && let Some((_, oldest)) = held.order.pop_first()
        {
            held.drop_entry(&oldest);
        }
    }

    /// The bytes that it holds, as it counts them.
    pub(crate) fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn used(&mut self, key: &DeploymentKey, version: i64) -> Option<&Built> {
        let entry = self.entries.get_mut(key).filter(|entry| entry.built.version == version)?;
        // The newest entry stays where it is, so that one busy deployment costs no work on the order.
        if entry.used != self.tick
            && let Some(owned) = self.order.remove(&entry.used)
        {
            self.tick += 1;
            entry.used = self.tick;
            self.order.insert(self.tick, owned);
        }
        Some(&entry.built)
    }

    fn drop_entry(&mut self, key: &DeploymentKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> DeploymentKey {
        DeploymentKey::try_from(format!("deployment-{number:04}")).unwrap()
    }

    fn built(version: i64, bytes: usize) -> Built {
        Built { version, text: Bytes::from(vec![b'x'; bytes]), snapshot: None }
    }

    #[test]
    fn bytes_are_bounded_and_the_least_recently_used_goes() {
        let cache = SnapshotCache::new(3 * 2_000);
        for number in 0..3 {
            cache.put(&key(number), built(1, 1_000));
        }
        assert!(cache.get(&key(0), 1).is_some());
        assert!(cache.get(&key(1), 2).is_none(), "another version");
        cache.put(&key(3), built(1, 2_000));
        assert!(cache.get(&key(1), 1).is_none());
        assert!(cache.get(&key(0), 1).is_some() && cache.get(&key(3), 1).is_some());
        for number in 0..1_000 {
            cache.put(&key(number % 7), built(1, number));
            assert!(cache.bytes() <= 6_000);
        }
    }

    #[test]
    fn a_single_snapshot_is_kept_however_large() {
        let cache = SnapshotCache::new(6_000);
        cache.put(&key(1), built(1, 1_000));
        cache.put(&key(2), built(1, 1 << 20));
        assert!(cache.get(&key(2), 1).is_some());
        assert!(cache.get(&key(1), 1).is_none());
        cache.put(&key(3), built(1, 1_000));
        assert!(cache.get(&key(3), 1).is_some() && cache.get(&key(2), 1).is_none());
    }
}
