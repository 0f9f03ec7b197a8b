//! Turns for work that can take megabytes, and a while of a core, such as to compare packages. So this process does only two at once, of two accounts.
//! Start reading at [`Turns::take`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use shared::ids::AccountId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::error::{Error, Result};

/// How many have a turn at once.
const MAX_TURNS: usize = 2;

/// The turns of a process.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    /// One turn for each account that has one or waits for one.
    accounts: Mutex<HashMap<AccountId, Weak<Semaphore>>>,
}

/// A turn. Clones share it, and the last one ends it.
#[derive(Clone, Debug)]
pub struct Turn {
    _permits: Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_TURNS)), accounts: Mutex::default() }
    }
}

impl Turns {
    /// Waits for a turn. Accounts take turns in the order of their requests; of one account, only one request waits among those of others, and the rest behind
    /// it.
    pub async fn take(&self, account: &AccountId) -> Result<Turn> {
        let of_account = self.of(account).acquire_owned().await.map_err(Error::internal)?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.map_err(Error::internal)?;
        Ok(Turn { _permits: Arc::new((of_all, of_account)) })
    }

    fn of(&self, account: &AccountId) -> Arc<Semaphore> {
        // No code panics between related changes, so the data behind a poisoned lock is still valid.
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.retain(|_, turn| turn.strong_count() > 0);
        accounts.get(account).and_then(Weak::upgrade).unwrap_or_else(|| {
            let new = Arc::new(Semaphore::new(1));
            accounts.insert(account.clone(), Arc::downgrade(&new));
            new
        })
    }
}

impl Turn {
    /// Does the work on a thread for such work. The turn lasts until it is done, even if nobody waits for the result anymore.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let turn = self.clone();
        let run = move || {
            let result = work();
            drop(turn);
            result
        };
        tokio::task::spawn_blocking(run).await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use shared::time::UnixMillis;

    use super::*;

    #[test]
    fn an_account_has_one_turn_and_others_need_not_wait_for_it() {
        let turns = Turns::default();
        let [ada, bob, eve] = [1, 2, 3].map(|number| AccountId::v7(UnixMillis(0), [number; 10]));
        let first = turns.take(&ada).now_or_never().unwrap().unwrap();
        let mut second = Box::pin(turns.take(&ada));
        assert!(second.as_mut().now_or_never().is_none(), "ada has a turn");
        let other = turns.take(&bob).now_or_never().unwrap().unwrap();
        let mut third = Box::pin(turns.take(&eve));
        assert!(third.as_mut().now_or_never().is_none(), "two at once");
        // Ada's second request does not take the turn that eve waits for.
        drop(first);
        assert!(second.as_mut().now_or_never().is_none());
        let third = third.as_mut().now_or_never().unwrap().unwrap();
        drop(other);
        let second = second.as_mut().now_or_never().unwrap().unwrap();
        drop((second, third));
        assert!(turns.take(&ada).now_or_never().is_some());
        assert_eq!(turns.accounts.lock().unwrap().len(), 1, "accounts without a turn are forgotten");
    }

    #[tokio::test]
    async fn a_turn_lasts_until_its_work_is_done() {
        let turns = Turns::default();
        let ada = AccountId::v7(UnixMillis(0), [1; 10]);
        let (finish, is_finished) = std::sync::mpsc::channel::<()>();
        let (begin, has_begun) = tokio::sync::oneshot::channel();
        let turn = turns.take(&ada).await.unwrap();
        let request = tokio::spawn(async move {
            turn.run(move || {
                begin.send(()).unwrap();
                is_finished.recv()
            })
            .await
        });
        has_begun.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        let mut next = Box::pin(turns.take(&ada));
        assert!(next.as_mut().now_or_never().is_none(), "the work goes on");
        finish.send(()).unwrap();
        next.await.unwrap();
    }
}
