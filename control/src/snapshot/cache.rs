//! Parsed snapshots by deployment key; bounded in bytes, the least recently used goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;
use tokio::sync::{Semaphore, SemaphorePermit};

/// What an entry takes besides its snapshot and its key: its places in both maps, rounded up.
const ENTRY_OVERHEAD: usize = 512;

/// Snapshots that are built at once; fewer than there are connections that read.
const BUILDS: usize = 4;

/// Snapshots of the deployments last asked for. A cache and never the truth: each is used only for the version that the database names.
#[derive(Debug)]
pub struct SnapshotCache {
    most_bytes: usize,
    held: Mutex<Held>,
    /// Permits for building what is not held.
    builds: Semaphore,
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
    snapshot: Arc<Snapshot>,
    weight: usize,
    used: u64,
}

impl SnapshotCache {
    /// An empty cache that holds at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { most_bytes: max_bytes, held: Mutex::default(), builds: Semaphore::new(BUILDS) }
    }

    /// The key's snapshot, if it is there in this version.
    pub fn get(&self, key: &DeploymentKey, version: i64) -> Option<Arc<Snapshot>> {
        let mut held = self.held();
        let held = &mut *held;
        let entry = held.entries.get_mut(key).filter(|entry| entry.snapshot.version() == version)?;
        // The newest entry stays where it is, so that one busy deployment costs no work on the order.
        if entry.used != held.tick
            && let Some(owned) = held.order.remove(&entry.used)
        {
            held.tick += 1;
            entry.used = held.tick;
            held.order.insert(held.tick, owned);
        }
        Some(Arc::clone(&entry.snapshot))
    }

    /// Waits for a turn to build a snapshot. After a change every check misses at once; whoever gets a turn looks again, since one before it may have built
    /// what it wants.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.builds.acquire().await.ok()
    }

    /// Keeps a snapshot in place of the one it held for the key; one that is larger than the whole cache is not kept.
    pub fn put(&self, key: &DeploymentKey, snapshot: &Arc<Snapshot>) {
        let mut held = self.held();
        held.drop_entry(key);
        let weight = snapshot.weight() + 2 * key.as_str().len() + ENTRY_OVERHEAD;
        if weight > self.most_bytes {
            return;
        }
        held.tick += 1;
        let used = held.tick;
        held.bytes += weight;
        held.order.insert(used, key.clone());
        held.entries.insert(key.clone(), Entry { snapshot: Arc::clone(snapshot), weight, used });
        while held.bytes > self.most_bytes
            && let Some((_, oldest)) = held.order.pop_first()
        {
            held.drop_entry(&oldest);
        }
    }

    /// The bytes that it holds, as it counts them.
    pub fn bytes(&self) -> usize {
        self.held().bytes
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn drop_entry(&mut self, key: &DeploymentKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.weight);
        }
    }
}
