//! Times, durations and sizes as people read them.

use shared::time::UnixMillis;

use crate::clock;
use crate::output::terminal;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A time for standard output: relative on a terminal ("3 minutes ago"), otherwise ISO 8601.
pub(crate) fn time(time: UnixMillis) -> String {
    if terminal::is_output() { relative(time, clock::now()) } else { time.iso8601() }
}

/// "3 minutes ago", "in 2 days", "just now".
pub(crate) fn relative(time: UnixMillis, now: UnixMillis) -> String {
    let seconds = now.as_millis().saturating_sub(time.as_millis()) / 1_000;
    // What was set a moment ago to be in 6 hours is not in 5.
    let text = span(if seconds < 0 { seconds.saturating_neg().saturating_add(MINUTE - 1) } else { seconds });
    match seconds {
        -59..=59 => "just now".to_owned(),
        seconds if seconds < 0 => format!("in {text}"),
        _ => format!("{text} ago"),
    }
}

/// The largest unit that fits: "3 minutes", "2 days".
pub(crate) fn span(seconds: i64) -> String {
    let (count, unit) = match seconds {
        ..MINUTE => (seconds, "second"),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ if seconds < 60 * DAY => (seconds / DAY, "day"),
        _ if seconds < 730 * DAY => (seconds / (30 * DAY), "month"),
        _ => (seconds / (365 * DAY), "year"),
    };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

/// "1.4 MB", as on the dashboard.
pub(crate) fn size(bytes: u64) -> String {
    shared::text::size(i64::try_from(bytes).unwrap_or(i64::MAX))
}
