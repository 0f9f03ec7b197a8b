//! Failures that this process keeps in memory until the job writes them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::ids::AccountId;
use shared::limit::wide_network;
use shared::time::UnixMillis;
use tokio::sync::Notify;

use super::backlog::Backlog;
use super::event::{Event, Warning};
use super::lines::{Lines, Suppressed};
use crate::domain::audit::client_address::ClientAddress;

/// A failure. It has no field for anything that a user typed.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'t> {
    /// What failed.
    pub event: Event,
    /// How it failed: a fixed word, never user input.
    pub outcome: &'static str,
    /// The account concerned, if known.
    pub account: Option<&'t AccountId>,
    /// The client address.
    pub from: ClientAddress,
}

/// Failures and warnings not written yet, and the counts of log lines.
#[derive(Debug, Default)]
pub struct Traces {
    lines: Mutex<Lines>,
    pub(crate) backlog: Mutex<Backlog>,
    pub(crate) noted: Notify,
}

impl Traces {
    /// Whether everything has been written.
    pub fn is_idle(&self) -> bool {
        locked(&self.backlog).is_empty()
    }

    /// Wakes the job.
    pub fn wake(&self) {
        self.noted.notify_one();
    }

    /// Records a failure: a log line, and for a known account an audit row.
    pub(super) fn fail(&self, trace: &Trace<'_>, now: UnixMillis) {
        self.log(trace, now);
        if let (Some(account), Some(_)) = (trace.account, trace.event.action()) {
            locked(&self.backlog).fail(trace.event, trace.outcome, account, trace.from);
            self.wake();
        }
    }

    /// Logs a refusal by a limit; `limit` is its name.
    pub fn refused(&self, from: ClientAddress, limit: &'static str, account: Option<&AccountId>, now: UnixMillis) {
        self.log(&Trace { event: Event::Limit, outcome: limit, account, from }, now);
    }

    /// Queues a warning email to the owner; at most one a day is sent per kind.
    pub(super) fn warn(&self, account: &AccountId, warning: Warning, from: ClientAddress) {
        locked(&self.backlog).warn(account, warning, from);
        self.wake();
    }

    /// Writes a log line, unless this network has used up its lines for this event in this minute.
    pub(super) fn log(&self, trace: &Trace<'_>, now: UnixMillis) {
        self.sum_up(now);
        let Some(network) = locked(&self.lines).count(trace.event, wide_network(trace.from.0), now) else { return };
        let (event, outcome) = (trace.event.as_str(), trace.outcome);
        if trace.event == Event::EdgeSignature {
            // Either it is forged, or an edge is misconfigured; the operator has to see that.
            tracing::warn!(target: TARGET, event, outcome, network, "invalid edge signature: check the edge secret and the clocks");
        } else {
            let account = trace.account.map(tracing::field::display);
            tracing::info!(target: TARGET, event, outcome, account.id = account, network, "refused");
        }
    }

    /// Writes the summary lines of windows that have ended.
    pub(crate) fn sum_up(&self, now: UnixMillis) {
        let over = locked(&self.lines).take_ended(now);
        over.iter().for_each(log_summary);
    }

    /// The same for all windows, when the process stops.
    pub(crate) fn sum_up_all(&self) {
        let all = locked(&self.lines).take_all();
        all.iter().for_each(log_summary);
    }
}

/// The log target, for filtering.
const TARGET: &str = "control::traces";

fn log_summary(suppressed: &Suppressed) {
    let (event, network, more) = (suppressed.event.as_str(), suppressed.network.as_str(), suppressed.more);
    tracing::info!(target: TARGET, event, outcome = "summed_up", network, more, "more refusals of this kind within a minute");
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
