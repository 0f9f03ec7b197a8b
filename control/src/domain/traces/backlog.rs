//! What was noted and is not written yet; [`crate::jobs::traces`] takes it away every second, or sooner.

use std::collections::HashMap;

use shared::ids::AccountId;

use super::event::{Event, Warning};
use crate::domain::audit::client_address::ClientAddress;

/// Kinds of failures of accounts, and warnings, that are remembered between two rounds of the job. What comes beyond it is in the log alone.
const MOST: usize = 4_096;

/// Failures of one kind of one account.
#[derive(Debug)]
pub(crate) struct Failures {
    pub(crate) event: Event,
    pub(crate) account: AccountId,
    /// How the first of them failed.
    pub(crate) outcome: &'static str,
    /// From where the first of them came.
    pub(crate) from: ClientAddress,
    pub(crate) count: i64,
}

/// A mail that is to be decided on.
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
    /// Entries that the job has taken and not written yet.
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
        let is_full = self.failures.len() >= MOST;
        let key = (more.event, more.account.clone());
        match self.failures.get_mut(&key) {
            Some(failures) => failures.count = failures.count.saturating_add(more.count),
            None if is_full => {}
            None => drop(self.failures.insert(key, more)),
        }
    }

    pub(crate) fn warn(&mut self, account: &AccountId, warning: Warning, from: ClientAddress) {
        if self.warnings.len() < MOST {
            self.warnings.entry((warning, account.clone())).or_insert_with(|| Warned { account: account.clone(), warning, from });
        }
    }

    /// Takes everything; each entry is to be given to [`Backlog::done`] or one of the other two.
    pub(crate) fn take(&mut self) -> (Vec<Failures>, Vec<Warned>) {
        let failures: Vec<_> = self.failures.drain().map(|(_, failures)| failures).collect();
        let warnings: Vec<_> = self.warnings.drain().map(|(_, warned)| warned).collect();
        self.taken += failures.len() + warnings.len();
        (failures, warnings)
    }

    /// An entry that was taken is written.
    pub(crate) fn done(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Takes back failures that could not be written.
    pub(crate) fn give_back(&mut self, failures: Failures) {
        self.done();
        self.add(failures);
    }

    /// Takes back a warning that could not be written.
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
    fn failures_of_one_kind_of_one_account_are_one_entry_and_there_are_not_too_many_entries() {
        let (mut backlog, from) = (Backlog::default(), ClientAddress(IpAddr::from([192, 0, 2, 1])));
        for number in 0..10_000_u16 {
            backlog.fail(Event::Bearer, "unknown", &account(number), from);
            backlog.fail(Event::Bearer, "unknown", &account(0), from);
            backlog.warn(&account(number), Warning::WrongFactor, from);
        }
        assert_eq!((backlog.failures.len(), backlog.warnings.len()), (MOST, MOST));
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
        assert_eq!((backlog.taken, backlog.failures.len()), (0, MOST));
    }
}
