//! Slots for building snapshots: a fixed number, handed out so that an account with many deployments does not delay the others.
//!
//! Each owner may have only a limited share of its builds running or queued for a slot; the rest wait for that share. The queue is first come, first
//! served. So owners alternate, however many builds one of them requests. Start reading at [`BuildSlots::acquire`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent builds; fewer than there are read connections.
const BUILDS: usize = 4;

/// Concurrent builds per owner, so that one owner never takes all slots.
const BUILDS_OF_OWNER: usize = 2;

/// Hands out the slots; clones share them.
#[derive(Clone, Debug)]
pub struct BuildSlots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    slots: Arc<Semaphore>,
    /// Owners with a build that runs or waits.
    owners: Mutex<HashMap<String, Owner>>,
}

#[derive(Debug)]
struct Owner {
    share: Arc<Semaphore>,
    /// How many of its builds run or wait.
    builds: usize,
}

/// A build slot, released on drop.
#[derive(Debug)]
pub struct BuildSlot {
    _slot: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    _build: Build,
}

/// A build that runs or waits. Dropping an owner's last one removes the owner.
#[derive(Debug)]
struct Build {
    slots: BuildSlots,
    owner: String,
}

impl Default for BuildSlots {
    fn default() -> Self {
        Self(Arc::new(Inner { slots: Arc::new(Semaphore::new(BUILDS)), owners: Mutex::default() }))
    }
}

impl BuildSlots {
    /// Waits for a slot. A dropped waiter leaves the queue.
    pub async fn acquire(&self, owner: &str) -> Option<BuildSlot> {
        let (build, share) = self.enter(owner);
        // Neither semaphore is ever closed.
        let share = share.acquire_owned().await.ok()?;
        let slot = Arc::clone(&self.0.slots).acquire_owned().await.ok()?;
        Some(BuildSlot { _slot: slot, _share: share, _build: build })
    }

    fn enter(&self, owner: &str) -> (Build, Arc<Semaphore>) {
        let new = || Owner { share: Arc::new(Semaphore::new(BUILDS_OF_OWNER)), builds: 0 };
        let mut owners = self.owners();
        let known = owners.entry(owner.to_owned()).or_insert_with(new);
        known.builds += 1;
        (Build { slots: self.clone(), owner: owner.to_owned() }, Arc::clone(&known.share))
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.0.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let mut owners = self.slots.owners();
        if let Some(owner) = owners.get_mut(&self.owner) {
            owner.builds -= 1;
            if owner.builds == 0 {
                owners.remove(&self.owner);
            }
        }
    }
}
