//! Failures and warnings not written yet; [`crate::jobs::traces`] takes them every second, or sooner.

use std::collections::HashMap;

use shared::ids::AccountId;

use super::event::{Event, Warning};
use crate::domain::audit::client_address::ClientAddress;

/// The most entries of each sort kept between two rounds of the job. Further failures are only in the log.
const MAX_ENTRIES: usize = 4_096;

/// Failures of one kind for one account.
#[derive(Debug)]
pub(crate) struct Failures {
    pub(crate) event: Event,
    pub(crate) account: AccountId,
    /// The outcome of the first one.
    pub(crate) outcome: &'static str,
    /// The client address of the first one.
    pub(crate) from: ClientAddress,
    pub(crate) count: i64,
}

/// A warning mail to decide on.
#[derive(Debug)]
pub(crate) struct Warned {
    pub(crate) account: AccountId,
    pub(crate) warning: Warning,
    pub(crate) from: ClientAddress,
}

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    failures: HashMap<(Event, AccountId), Failures>,
    warnings: HashMap<(Warning, AccountId), Warned>,
    /// Entries that the job has taken but not written yet.
    taken: usize,
}

impl Backlog {
    pub(crate) fn is_empty(&self) -> bool {
        self.failures.is_empty() && self.warnings.is_empty() && self.taken == 0
    }

    pub(crate) fn fail(&mut self, event: Event, outcome: &'static str, account: &AccountId, from: ClientAddress) {
        self.add(Failures { event, account: account.clone(), outcome, from, count: 1 });
    }

    fn add(&mut self, more: Failures) {
        let is_full = self.failures.len() >= MAX_ENTRIES;
        let key = (more.event, more.account.clone());
        match self.failures.get_mut(&key) {
            Some(failures) => failures.count = failures.count.saturating_add(more.count),
            None if is_full => {}
            None => drop(self.failures.insert(key, more)),
        }
    }

    pub(crate) fn warn(&mut self, account: &AccountId, warning: Warning, from: ClientAddress) {
        if self.warnings.len() < MAX_ENTRIES {
            self.warnings.entry((warning, account.clone())).or_insert_with(|| Warned { account: account.clone(), warning, from });
        }
    }

    /// Takes everything. Pass each entry to [`Backlog::done`] or one of the two methods that give it back.
    pub(crate) fn take(&mut self) -> (Vec<Failures>, Vec<Warned>) {
        let failures: Vec<_> = self.failures.drain().map(|(_, failures)| failures).collect();
        let warnings: Vec<_> = self.warnings.drain().map(|(_, warned)| warned).collect();
        self.taken += failures.len() + warnings.len();
        (failures, warnings)
    }

    /// Marks a taken entry as written.
    pub(crate) fn done(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Returns failures that could not be written.
    pub(crate) fn give_back(&mut self, failures: Failures) {
        self.done();
        self.add(failures);
    }

    /// Returns a warning that could not be written.
    pub(crate) fn give_warning_back(&mut self, warned: &Warned) {
        self.done();
        self.warn(&warned.account, warned.warning, warned.from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn account(number: u16) -> AccountId {
        let [high, low] = number.to_be_bytes();
        AccountId::v7(shared::time::UnixMillis(0), [0, 0, 0, 0, 0, 0, 0, 0, high, low])
    }

    #[test]
    fn failures_of_one_kind_and_account_share_an_entry_and_entries_are_bounded() {
        let (mut backlog, from) = (Backlog::default(), ClientAddress(IpAddr::from([192, 0, 2, 1])));
        for number in 0..10_000_u16 {
            backlog.fail(Event::Bearer, "unknown", &account(number), from);
            backlog.fail(Event::Bearer, "unknown", &account(0), from);
            backlog.warn(&account(number), Warning::WrongFactor, from);
        }
        assert_eq!((backlog.failures.len(), backlog.warnings.len()), (MAX_ENTRIES, MAX_ENTRIES));
        let (failures, warnings) = backlog.take();
        assert!(!backlog.is_empty());
        let first = failures.iter().find(|failures| failures.account == account(0)).unwrap();
        assert_eq!(first.count, 10_001);
        for failures in failures {
            backlog.give_back(failures);
        }
        for _ in warnings {
            backlog.done();
        }
        assert_eq!((backlog.taken, backlog.failures.len()), (0, MAX_ENTRIES));
    }
}
