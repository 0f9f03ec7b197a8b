//! The traces that failures leave: lines in the log, rows in the audit trail, mails to the owner (decisions section 9).
//!
//! A request writes none of the rows: it notes failures in memory, whether or not the address has an account, and [`crate::jobs::traces`] writes within
//! a second. So a failed login costs the same for an address without an account, and no flood of refusals keeps others from writing. What was noted
//! and not written is lost if the process is killed in that second; a stop in order writes it. What is counted after that is in the database, and any
//! replica sums it up.
//!
//! Successes are in the audit trail already and not here. Start reading at [`fail`] and [`refused`].

pub mod backlog;
mod lines;
pub mod networks;
pub mod tally;
pub mod warnings;

use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::ids::AccountId;
use shared::limit::wide_network;
use shared::time::UnixMillis;
use tokio::sync::Notify;

use self::backlog::Backlog;
use self::lines::{LeftOut, Lines};
use crate::domain::audit::{Action, ClientAddress};
use crate::domain::context::Context;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A login: a wrong address or password, or a passkey that was not accepted.
    Login,
    /// The second factor of a pending login, or the code that confirms an authenticator app.
    SecondFactor,
    /// The proof of a second factor by somebody who is signed in.
    StepUp,
    /// The exchange of a command line.
    Exchange,
    /// A bearer token that has one of our prefixes.
    Bearer,
    /// A signature of the edge that is not valid; the outcome says over what.
    EdgeSignature,
    /// Whatever a limit refuses; the outcome names the limit.
    Limit,
}

impl Event {
    /// The name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::SecondFactor => "second_factor",
            Self::StepUp => "step_up",
            Self::Exchange => "exchange",
            Self::Bearer => "bearer",
            Self::EdgeSignature => "edge_signature",
            Self::Limit => "limit",
        }
    }

    /// How the audit trail calls it. What a limit refuses is not a failure of its own: those that used the limit up are in the trail. A signature of the
    /// edge is of no account.
    pub(crate) fn action(self) -> Option<Action> {
        match self {
            Self::Login => Some(Action::FailLogIn),
            Self::SecondFactor => Some(Action::FailSecondFactor),
            Self::StepUp => Some(Action::FailStepUp),
            Self::Exchange => Some(Action::FailExchange),
            Self::Bearer => Some(Action::FailBearer),
            Self::EdgeSignature | Self::Limit => None,
        }
    }

    /// The event that is tallied under this name.
    pub(crate) fn of_tally(kind: &str) -> Option<Self> {
        [Self::Login, Self::SecondFactor, Self::StepUp, Self::Exchange, Self::Bearer].into_iter().find(|event| event.as_str() == kind)
    }
}

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

    /// Writes a line into the log, unless this network had its share of this event in this minute.
    fn log(&self, trace: &Trace<'_>, now: UnixMillis) {
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

/// Notes a failure: a line in the log, and for a known account its audit trail. Call it once the failure is counted.
pub fn fail(app: &Context, trace: Trace<'_>) {
    app.traces.log(&trace, app.now());
    if let (Some(account), Some(_)) = (trace.account, trace.event.action()) {
        locked(&app.traces.backlog).fail(trace.event, trace.outcome, account, trace.from);
        app.traces.wake();
    }
}

/// The same for the log alone: where the trail has a row of its own.
pub fn log(app: &Context, trace: Trace<'_>) {
    app.traces.log(&trace, app.now());
}

/// Notes that a limit refused somebody; `limit` is its name.
pub fn refused(app: &Context, from: ClientAddress, limit: &'static str, account: Option<&AccountId>) {
    app.traces.log(&Trace { event: Event::Limit, outcome: limit, account, from }, app.now());
}

/// Has the owner told of something, by a mail of which there is one a day at most.
pub fn warn(app: &Context, account: &AccountId, warning: warnings::Warning, from: ClientAddress) {
    locked(&app.traces.backlog).warn(account, warning, from);
    app.traces.wake();
}
