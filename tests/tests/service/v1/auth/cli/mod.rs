//! CLI login over HTTP. The tests play both sides: the CLI, and the browser with the dashboard that approves it. Start reading at [`participants`].

mod browser_ceremony;
mod cancelled;
mod code_refusals;
mod concurrent_exchanges;
mod device_ceremony;
mod expired_requests;
mod invalid_bodies;
mod limits;
mod logs;
pub(crate) mod participants;
mod redirects;
mod secrets;

/// A minute in milliseconds.
pub(crate) const MINUTE: i64 = 60_000;
/// A day in milliseconds.
pub(crate) const DAY: i64 = 24 * 60 * MINUTE;
