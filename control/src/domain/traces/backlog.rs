//! Failures and warnings not written yet; [`crate::jobs::traces`] takes them every second, or sooner.

use std::collections::HashMap;

use shared::ids::AccountId;

use super::event::{Event, Warning};
use crate::domain::audit::client_address::ClientAddress;

/// Maximum number of entries of each kind kept between two rounds of the job. Further failures are only in the log.
const MAX_ENTRIES: usize = 4_096;

/// Failures of one kind for one account.
#[derive(Debug)]
pub struct Failures {
    /// The kind.
    pub event: Event,
    /// The account they were for.
    pub account: AccountId,
    /// The outcome of the first one.
    pub outcome: &'static str,
    /// The client address of the first one.
    pub from: ClientAddress,
    /// How many.
    pub count: i64,
}

/// A warning email to decide on.
#[derive(Debug)]
pub struct Warned {
    /// The owner.
    pub account: AccountId,
    /// The reason.
    pub warning: Warning,
    /// The client address.
    pub from: ClientAddress,
}

/// What the job has not written yet.
#[derive(Debug, Default)]
pub struct Backlog {
    failures: HashMap<(Event, AccountId), Failures>,
    warnings: HashMap<(Warning, AccountId), Warned>,
    /// Entries that the job has taken but not written yet.
    taken: usize,
}

impl Backlog {
    /// Whether everything is written.
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty() && self.warnings.is_empty() && self.taken == 0
    }

    /// Adds a failure.
    pub fn fail(&mut self, event: Event, outcome: &'static str, account: &AccountId, from: ClientAddress) {
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

    /// Adds a warning, unless the account has one of this kind.
    pub fn warn(&mut self, account: &AccountId, warning: Warning, from: ClientAddress) {
        if self.warnings.len() < MAX_ENTRIES {
            self.warnings.entry((warning, account.clone())).or_insert_with(|| Warned { account: account.clone(), warning, from });
        }
    }

    /// Takes everything. Pass each entry to [`Backlog::done`] or one of the two methods that give it back.
    pub fn take(&mut self) -> (Vec<Failures>, Vec<Warned>) {
        let failures: Vec<_> = self.failures.drain().map(|(_, failures)| failures).collect();
        let warnings: Vec<_> = self.warnings.drain().map(|(_, warned)| warned).collect();
        self.taken += failures.len() + warnings.len();
        (failures, warnings)
    }

    /// Marks a taken entry as written.
    pub fn done(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Returns failures that could not be written.
    pub fn give_back(&mut self, failures: Failures) {
        self.done();
        self.add(failures);
    }

    /// Returns a warning that could not be written.
    pub fn give_warning_back(&mut self, warned: &Warned) {
        self.done();
        self.warn(&warned.account, warned.warning, warned.from);
    }
}
