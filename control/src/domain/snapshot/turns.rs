//! Slots for building snapshots: a fixed number, handed out so that an account with many deployments does not delay the others.
//!
//! Each owner may have only a limited share of its builds running or queued for a slot; the rest wait for that share. The queue is first come, first
//! served. So owners alternate, however many builds one of them requests. Start reading at [`Turns::take`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent builds; fewer than there are read connections.
const BUILDS: usize = 4;

/// Concurrent builds per owner, so that one owner never takes all slots.
const BUILDS_OF_OWNER: usize = 2;

/// Hands out the slots; clones share them.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Inner>);

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
pub struct Turn {
    _slot: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    _build: Build,
}

/// A build that runs or waits. Dropping an owner's last one removes the owner.
#[derive(Debug)]
struct Build {
    turns: Turns,
    owner: String,
}

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Inner { slots: Arc::new(Semaphore::new(BUILDS)), owners: Mutex::default() }))
    }
}

impl Turns {
    /// Waits for a slot. A dropped waiter leaves the queue.
    pub async fn take(&self, owner: &str) -> Option<Turn> {
        let (build, share) = self.enter(owner);
        // Neither semaphore is ever closed.
        let share = share.acquire_owned().await.ok()?;
        let turn = Arc::clone(&self.0.slots).acquire_owned().await.ok()?;
        Some(Turn { _slot: turn, _share: share, _build: build })
    }

    fn enter(&self, owner: &str) -> (Build, Arc<Semaphore>) {
        let new = || Owner { share: Arc::new(Semaphore::new(BUILDS_OF_OWNER)), builds: 0 };
        let mut owners = self.owners();
        let known = owners.entry(owner.to_owned()).or_insert_with(new);
        known.builds += 1;
        (Build { turns: self.clone(), owner: owner.to_owned() }, Arc::clone(&known.share))
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.0.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let mut owners = self.turns.owners();
        if let Some(owner) = owners.get_mut(&self.owner) {
            owner.builds -= 1;
            if owner.builds == 0 {
                owners.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures_util::FutureExt;

    use super::*;

    /// A build that waits for a slot.
    type Waiting<'t> = Pin<Box<dyn Future<Output = Option<Turn>> + 't>>;

    /// A slot, if one is free now.
    fn take_now(turns: &Turns, owner: &str) -> Option<Turn> {
        turns.take(owner).now_or_never().flatten()
    }

    fn queue<'t>(turns: &'t Turns, owner: &'t str) -> Waiting<'t> {
        let mut waiting: Waiting<'t> = Box::pin(turns.take(owner));
        assert!(poll_turn(&mut waiting).is_none(), "{owner} does not have to wait");
        waiting
    }

    fn poll_turn(waiting: &mut Waiting<'_>) -> Option<Turn> {
        waiting.now_or_never().flatten()
    }

    fn assert_idle(turns: &Turns) {
        assert!(turns.owners().is_empty());
        assert_eq!(turns.0.slots.available_permits(), BUILDS);
    }

    #[tokio::test]
    async fn one_owner_never_takes_all_slots() {
        let turns = Turns::default();
        let mut held = vec![take_now(&turns, "mallory").unwrap(), take_now(&turns, "mallory").unwrap()];
        let mut more = queue(&turns, "mallory");
        for _ in 0..2 {
            held.push(take_now(&turns, "ada").unwrap());
        }
        assert!(take_now(&turns, "bob").is_none(), "there are four slots");
        drop(held.remove(0));
        let third = poll_turn(&mut more);
        assert!(third.is_some());
        drop((held, third, more));
        assert_idle(&turns);
    }

    #[tokio::test]
    async fn owners_alternate_regardless_of_how_many_builds_one_requests() {
        let turns = Turns::default();
        let mut mallory = vec![take_now(&turns, "mallory").unwrap(), take_now(&turns, "mallory").unwrap()];
        let eve = [take_now(&turns, "eve").unwrap(), take_now(&turns, "eve").unwrap()];
        let mut hundred: Vec<_> = (0..100).map(|_| queue(&turns, "mallory")).collect();
        let mut ada = queue(&turns, "ada");
        // Ada's build came last and still is next.
        drop(mallory.remove(0));
        assert!(poll_turn(&mut hundred[0]).is_none());
        let first = poll_turn(&mut ada);
        assert!(first.is_some());
        // Then the earlier requests follow, one after the other.
        drop(first);
        let second = poll_turn(&mut hundred[0]);
        assert!(second.is_some() && poll_turn(&mut hundred[1]).is_none());
        drop((mallory, eve, hundred, ada, second));
        assert_idle(&turns);
    }

    #[tokio::test]
    async fn a_dropped_waiter_leaves_the_queue() {
        let turns = Turns::default();
        let mut held: Vec<Turn> = ["mallory", "mallory", "eve", "eve"].map(|owner| take_now(&turns, owner).unwrap()).into();
        let (share, slots, mut last) = (queue(&turns, "mallory"), queue(&turns, "ada"), queue(&turns, "bob"));
        drop(share);
        // Ada's request has its slot now, but is dropped without being polled.
        drop(held.pop());
        drop(slots);
        let turn = poll_turn(&mut last);
        assert!(turn.is_some());
        drop((held, turn, last));
        assert_idle(&turns);
    }
}
