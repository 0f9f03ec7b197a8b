//! The traces that failures leave: lines in the log, rows in the audit trail, mails to the owner.
//!
//! A request writes none of the rows: it notes failures in memory, whether or not the address has an account, and [`crate::jobs::traces`] writes within
//! a second. So a failed login costs the same for an address without an account, and no flood of refusals keeps others from writing. What was noted
//! and not written is lost if the process is killed in that second; a stop in order writes it. What is counted after that is in the database, and any
//! replica sums it up.
//!
//! The mails are put into the outbox by [`crate::domain::warnings`]. Successes are in the audit trail already and not here. Start reading at [`fail`] and
//! [`refused`].

pub mod backlog;
pub mod event;
mod lines;
pub mod memory;
pub mod tally;

use shared::ids::AccountId;

use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;

pub use event::{Event, Warning};
pub(crate) use memory::locked;
pub use memory::{Trace, Traces};

/// Notes a failure: a line in the log, and for a known account its audit trail. Call it once the failure is counted.
pub fn fail(app: &Context, trace: Trace<'_>) {
    app.traces.fail(&trace, app.now());
}

/// The same for the log alone: where the trail has a row of its own.
pub fn log(app: &Context, trace: Trace<'_>) {
    app.traces.log(&trace, app.now());
}

/// Notes that a limit refused somebody; `limit` is its name.
pub fn refused(app: &Context, from: ClientAddress, limit: &'static str, account: Option<&AccountId>) {
    app.traces.refused(from, limit, account, app.now());
}

/// Has the owner told of something, by a mail of which there is one a day at most.
pub fn warn(app: &Context, account: &AccountId, warning: Warning, from: ClientAddress) {
    app.traces.warn(account, warning, from);
}
