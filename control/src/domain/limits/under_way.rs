//! Limits how many operations of one kind each account has in progress in this process.
//!
//! Rate limits are elsewhere ([`App::count`](crate::domain::context::Context::count)). This is for work that is expensive while it runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::ids::AccountId;

/// Counts per account; clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<Mutex<HashMap<AccountId, u32>>>);

/// A slot for one operation, released on drop.
#[derive(Debug)]
pub struct Slot {
    all: UnderWay,
    account: AccountId,
}

impl UnderWay {
    /// Takes a slot for the account; `None` if it already has `max` operations in progress.
    pub fn enter(&self, account: &AccountId, max: u32) -> Option<Slot> {
        let mut counts = self.counts();
        let count = counts.get(account).copied().unwrap_or_default();
        if count >= max {
            return None;
        }
        counts.insert(account.clone(), count + 1);
        Some(Slot { all: self.clone(), account: account.clone() })
    }

    /// The number of operations the account has in progress.
    pub fn count(&self, account: &AccountId) -> u32 {
        self.counts().get(account).copied().unwrap_or_default()
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn counts(&self) -> MutexGuard<'_, HashMap<AccountId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        match counts.get_mut(&self.account) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.account)),
        }
    }
}
