//! The traces of failures: log lines, audit rows, warning emails to the owner.
//!
//! A request does not write the rows itself. It records failures in memory, whether or not the address has an account, and [`crate::jobs::traces`]
//! writes them within a second. So a failed login costs the same with and without an account, and a flood of refusals does not block writers.
//! Failures not yet written are lost if the process is killed in that second; a graceful shutdown writes them. Once written, the counts are in the
//! database, and any replica can sum them up.
//!
//! [`crate::domain::warnings`] puts the emails into the outbox. Successes are not here: they are already in the audit trail. Start reading at [`fail`]
//! and [`refused`].

pub mod backlog;
pub mod event;
mod lines;
pub mod memory;
pub mod tally;

use shared::ids::AccountId;

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;

pub use event::{Event, Notice, Warning};
pub(crate) use memory::locked;
pub use memory::{Trace, Traces};

/// Records a failure: a log line, and for a known account an audit row. Call it once the failure is counted.
pub fn fail(app: &Context, trace: Trace<'_>) {
    app.traces.fail(&trace, app.now());
}

/// Writes only the log line, for failures with an audit row of their own.
pub fn log(app: &Context, trace: Trace<'_>) {
    app.traces.log(&trace, app.now());
}

/// Logs a refusal by a limit; `limit` is its name.
pub fn refused(app: &Context, from: ClientAddress, limit: &'static str, account: Option<&AccountId>) {
    app.traces.refused(from, limit, account, app.now());
}

/// Queues a warning email to the owner; at most one a day is sent per kind.
pub fn warn(app: &Context, account: &AccountId, warning: Warning, from: ClientAddress) {
    app.traces.warn(account, warning, from);
}
