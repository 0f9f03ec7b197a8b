//! Times in words for people, in UTC: on pages and in emails.

use shared::time::UnixMillis;

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;

/// An hour, in milliseconds.
const HOUR: u64 = 60 * MINUTE;

/// A time as pages show it: relative to now, with the exact time for the tooltip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelativeTime {
    /// `in 60 days`, `3 minutes ago`.
    pub text: String,
    /// `December 3, 2026, 14:05 UTC`.
    pub exact: String,
    /// `2026-12-03T14:05:09.000Z`.
    pub iso8601: String,
    /// Whether it is not after now: a credential that expires then has expired.
    pub is_past: bool,
}

impl RelativeTime {
    /// A time, relative to `now`.
    pub fn of(time: UnixMillis, now: UnixMillis) -> Self {
        Self { text: relative(time, now), exact: moment(time), iso8601: time.iso8601(), is_past: time <= now }
    }
}

/// A time relative to `now`: `just now`, `3 minutes ago`, `in 2 hours`, `in 60 days`.
///
/// Minutes and hours are rounded. From a day on, it counts calendar days in UTC, so that it agrees with the exact date.
pub fn relative(time: UnixMillis, now: UnixMillis) -> String {
    let is_future = time > now;
    let distance = time.0.abs_diff(now.0);
    if distance < MINUTE {
        let text = if is_future { "in less than a minute" } else { "just now" };
        return text.to_owned();
    }
    let (minutes, hours) = (rounded(distance, MINUTE), rounded(distance, HOUR));
    let (count, unit) = if minutes < 60 {
        (minutes, "minute")
    } else if hours < 24 {
        (hours, "hour")
    } else {
        (time.utc_day().0.abs_diff(now.utc_day().0).max(1), "day")
    };
    let plural = if count == 1 { "" } else { "s" };
    if is_future { format!("in {count} {unit}{plural}") } else { format!("{count} {unit}{plural} ago") }
}

fn rounded(distance: u64, unit: u64) -> u64 {
    distance.saturating_add(unit / 2) / unit
}

/// A time to the second: `December 3, 2026, 14:05:09 UTC`.
pub fn second(time: UnixMillis) -> String {
    format!("{}, {}:{:02} UTC", day(time), clock(time), time.0.div_euclid(1_000).rem_euclid(60))
}

/// A time to the minute: `December 3, 2026, 14:05 UTC`.
pub fn moment(time: UnixMillis) -> String {
    format!("{}, {} UTC", day(time), clock(time))
}

/// A day: `December 3, 2026`.
pub fn day(time: UnixMillis) -> String {
    let (year, month, day) = time.utc_day().civil();
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    format!("{month} {day}, {year}")
}

fn clock(time: UnixMillis) -> String {
    let minutes = time.0.div_euclid(60_000);
    format!("{:02}:{:02}", minutes.div_euclid(60).rem_euclid(24), minutes.rem_euclid(60))
}
