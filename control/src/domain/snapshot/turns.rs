//! Turns to build snapshots: so many at once, handed out so that nobody with many deployments keeps the others waiting.
//!
//! Of each owner no more than its share builds or is in the line for a turn; the rest of its builds wait for one of these. The line is first come, first
//! served. So owners take turns, however many builds one of them asks for. Start reading at [`Turns::take`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Builds at once; fewer than there are connections that read.
const BUILDS: usize = 4;

/// Builds of one owner at once, so that one owner alone never takes all turns.
const BUILDS_OF_OWNER: usize = 2;

/// Gives out the turns; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    line: Arc<Semaphore>,
    /// Those who build or wait.
    owners: Mutex<HashMap<String, Owner>>,
}

#[derive(Debug)]
struct Owner {
    share: Arc<Semaphore>,
    /// How many of its builds are under way or wait.
    builds: usize,
}

/// The turn to build, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _slot: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
    _build: Build,
}

/// A build that is under way or waits. The owner is forgotten with the last one.
#[derive(Debug)]
struct Build {
    turns: Turns,
    owner: String,
}

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Inner { line: Arc::new(Semaphore::new(BUILDS)), owners: Mutex::default() }))
    }
}

impl Turns {
    /// Waits for a turn. A waiter that is dropped leaves the queue.
    pub(crate) async fn take(&self, owner: &str) -> Option<Turn> {
        let (build, share) = self.enter(owner);
        // Neither of the two is ever closed.
        let share = share.acquire_owned().await.ok()?;
        let turn = Arc::clone(&self.0.line).acquire_owned().await.ok()?;
        Some(Turn { _slot: turn, _share: share, _build: build })
    }

    fn enter(&self, owner: &str) -> (Build, Arc<Semaphore>) {
        let new = || Owner { share: Arc::new(Semaphore::new(BUILDS_OF_OWNER)), builds: 0 };
        let mut owners = self.owners();
        let known = owners.entry(owner.to_owned()).or_insert_with(new);
        known.builds += 1;
        (Build { turns: self.clone(), owner: owner.to_owned() }, Arc::clone(&known.share))
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
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

    /// A build that waits for its turn.
    type Waiting<'t> = Pin<Box<dyn Future<Output = Option<Turn>> + 't>>;

    /// The turn, if it is there at once.
    fn at_once(turns: &Turns, owner: &str) -> Option<Turn> {
        turns.take(owner).now_or_never().flatten()
    }

    fn wait<'t>(turns: &'t Turns, owner: &'t str) -> Waiting<'t> {
        let mut waiting: Waiting<'t> = Box::pin(turns.take(owner));
        assert!(is_its_turn(&mut waiting).is_none(), "{owner} need not wait");
        waiting
    }

    fn is_its_turn(waiting: &mut Waiting<'_>) -> Option<Turn> {
        waiting.now_or_never().flatten()
    }

    fn assert_idle(turns: &Turns) {
        assert!(turns.owners().is_empty());
        assert_eq!(turns.0.line.available_permits(), BUILDS);
    }

    #[tokio::test]
    async fn one_owner_never_has_all_turns() {
        let turns = Turns::default();
        let mut held = vec![at_once(&turns, "mallory").unwrap(), at_once(&turns, "mallory").unwrap()];
        let mut more = wait(&turns, "mallory");
        for _ in 0..2 {
            held.push(at_once(&turns, "ada").unwrap());
        }
        assert!(at_once(&turns, "bob").is_none(), "there are four");
        drop(held.remove(0));
        let third = is_its_turn(&mut more);
        assert!(third.is_some());
        drop((held, third, more));
        assert_idle(&turns);
    }

    #[tokio::test]
    async fn owners_take_turns_however_many_builds_one_of_them_asks_for() {
        let turns = Turns::default();
        let mut mallory = vec![at_once(&turns, "mallory").unwrap(), at_once(&turns, "mallory").unwrap()];
        let eve = [at_once(&turns, "eve").unwrap(), at_once(&turns, "eve").unwrap()];
        let mut hundred: Vec<_> = (0..100).map(|_| wait(&turns, "mallory")).collect();
        let mut ada = wait(&turns, "ada");
        // Hers came last, and is the next all the same.
        drop(mallory.remove(0));
        assert!(is_its_turn(&mut hundred[0]).is_none());
        let first = is_its_turn(&mut ada);
        assert!(first.is_some());
        // Then it is the turn of those who asked before, one after the other.
        drop(first);
        let second = is_its_turn(&mut hundred[0]);
        assert!(second.is_some() && is_its_turn(&mut hundred[1]).is_none());
        drop((mallory, eve, hundred, ada, second));
        assert_idle(&turns);
    }

    #[tokio::test]
    async fn who_stops_waiting_takes_no_turn_along() {
        let turns = Turns::default();
        let mut held: Vec<Turn> = ["mallory", "mallory", "eve", "eve"].map(|owner| at_once(&turns, owner).unwrap()).into();
        let (share, line, mut last) = (wait(&turns, "mallory"), wait(&turns, "ada"), wait(&turns, "bob"));
        drop(share);
        // It is Ada's turn now; she goes without having looked.
        drop(held.pop());
        drop(line);
        let turn = is_its_turn(&mut last);
        assert!(turn.is_some());
        drop((held, turn, last));
        assert_idle(&turns);
    }
}
