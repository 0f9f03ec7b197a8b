//! The command line's login over HTTP. The tests play both sides: the command line, and the browser with the dashboard that lets it in. Start reading
//! at [`actors`].

mod actors;
mod browser_ceremony;
mod cancelled;
mod code_refusals;
mod decisions;
mod device_ceremony;
mod faults;
mod forgotten;
mod freshness;
mod limits;
mod logs;
mod machines;
mod notices;
mod redirects;
mod resolving;
mod secrets;
mod together;

/// A minute in milliseconds.
const MINUTE: i64 = 60_000;
/// A day in milliseconds.
const DAY: i64 = 24 * 60 * MINUTE;
