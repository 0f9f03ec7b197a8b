//! What this process has noted of failures, until the job writes it down.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::ids::AccountId;
use shared::limit::wide_network;
use shared::time::UnixMillis;
use tokio::sync::Notify;

use super::backlog::Backlog;
use super::event::{Event, Warning};
use super::lines::{LeftOut, Lines};
use crate::domain::audit::client_address::ClientAddress;

/// One thing that failed. It has no place for anything that was typed.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'t> {
    /// What failed.
    pub event: Event,
    /// How, in a word of the program's own.
    pub outcome: &'static str,
    /// Whose account it was about, where that is known.
    pub account: Option<&'t AccountId>,
    /// From where.
    pub from: ClientAddress,
}

/// What this process has noted and not written yet, and how many lines the log had.
#[derive(Debug, Default)]
pub struct Traces {
    lines: Mutex<Lines>,
    pub(crate) backlog: Mutex<Backlog>,
    pub(crate) noted: Notify,
}

impl Traces {
    /// Whether everything that was noted is written.
    pub fn is_idle(&self) -> bool {
        locked(&self.backlog).is_empty()
    }

    /// Has the job look at once.
    pub fn wake(&self) {
        self.noted.notify_one();
    }

    /// Notes a failure: a line in the log, and for a known account its audit trail.
    pub(super) fn fail(&self, trace: &Trace<'_>, now: UnixMillis) {
        self.log(trace, now);
        if let (Some(account), Some(_)) = (trace.account, trace.event.action()) {
            locked(&self.backlog).fail(trace.event, trace.outcome, account, trace.from);
            self.wake();
        }
    }

    /// Notes that a limit refused somebody; `limit` is its name.
    pub fn refused(&self, from: ClientAddress, limit: &'static str, account: Option<&AccountId>, now: UnixMillis) {
        self.log(&Trace { event: Event::Limit, outcome: limit, account, from }, now);
    }

    /// Has the owner told of something, by a mail of which there is one a day at most.
    pub(super) fn warn(&self, account: &AccountId, warning: Warning, from: ClientAddress) {
        locked(&self.backlog).warn(account, warning, from);
        self.wake();
    }

    /// Writes a line into the log, unless this network had its share of this event in this minute.
    pub(super) fn log(&self, trace: &Trace<'_>, now: UnixMillis) {
        self.sum_up(now);
        let Some(network) = locked(&self.lines).admit(trace.event, wide_network(trace.from.0), now) else { return };
        let (event, outcome) = (trace.event.as_str(), trace.outcome);
        if trace.event == Event::EdgeSignature {
            // Somebody made it up, or an edge does not fit this process: its operator has to see that.
            tracing::warn!(target: TARGET, event, outcome, network, "a signature of the edge is not valid: edge secret or clock");
        } else {
            let account = trace.account.map(tracing::field::display);
            tracing::info!(target: TARGET, event, outcome, account.id = account, network, "refused");
        }
    }

    /// Writes the lines that sum up minutes that are over.
    pub(crate) fn sum_up(&self, now: UnixMillis) {
        let over = locked(&self.lines).over(now);
        over.iter().for_each(say);
    }

    /// The same for minutes that are not over, for a process that stops.
    pub(crate) fn sum_up_all(&self) {
        let all = locked(&self.lines).all();
        all.iter().for_each(say);
    }
}

/// By which the log can be filtered.
const TARGET: &str = "control::traces";

fn say(left_out: &LeftOut) {
    let (event, network, more) = (left_out.event.as_str(), left_out.network.as_str(), left_out.more);
    tracing::info!(target: TARGET, event, outcome = "summed_up", network, more, "more of this kind were refused within a minute");
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
