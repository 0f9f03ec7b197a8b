//! How many of one kind of work each account has under way in this process.
//!
//! What an account may begin in a time is counted elsewhere ([`App::count`](crate::domain::context::Context::count)); this is for what is large while it lasts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::ids::AccountId;

/// The counts; clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<Mutex<HashMap<AccountId, u32>>>);

/// One piece of work under way, until it is dropped.
#[derive(Debug)]
pub struct Place {
    all: UnderWay,
    account: AccountId,
}

impl UnderWay {
    /// A place for one more of the account; none when it has `most` under way.
    pub fn enter(&self, account: &AccountId, most: u32) -> Option<Place> {
        let mut counts = self.counts();
        let count = counts.get(account).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        counts.insert(account.clone(), count + 1);
        Some(Place { all: self.clone(), account: account.clone() })
    }

    /// How many the account has under way.
    pub fn count(&self, account: &AccountId) -> u32 {
        self.counts().get(account).copied().unwrap_or_default()
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn counts(&self) -> MutexGuard<'_, HashMap<AccountId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        match counts.get_mut(&self.account) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.account)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::time::UnixMillis;

    #[test]
    fn each_account_has_its_places_and_gets_them_back() {
        let under_way = UnderWay::default();
        let [ada, bob] = [1, 2].map(|number| AccountId::v7(UnixMillis(0), [number; 10]));
        let first = under_way.enter(&ada, 2);
        let second = under_way.enter(&ada, 2);
        assert!(first.is_some() && second.is_some() && under_way.enter(&ada, 2).is_none());
        let third = under_way.enter(&bob, 1);
        assert!(third.is_some());
        drop(first);
        assert_eq!((under_way.count(&ada), under_way.count(&bob)), (1, 1));
        assert!(under_way.enter(&ada, 2).is_some());
        drop((second, third));
        assert!(under_way.counts().is_empty());
    }
}
