//! Times as people read them, in UTC: on pages and in mails.

use shared::time::UnixMillis;

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// A time to the second: `3 December 2026, 14:05:09 UTC`.
pub fn second(time: UnixMillis) -> String {
    format!("{}, {}:{:02} UTC", day(time), clock(time), time.0.div_euclid(1_000).rem_euclid(60))
}

/// A time to the minute: `3 December 2026, 14:05 UTC`.
pub fn moment(time: UnixMillis) -> String {
    format!("{}, {} UTC", day(time), clock(time))
}

/// A day: `3 December 2026`.
pub fn day(time: UnixMillis) -> String {
    let (year, month, day) = time.utc_day().civil();
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    format!("{day} {month} {year}")
}

/// Until when something holds: the day alone when it holds to the day's end, as forms that ask for a day have it.
pub fn end(time: UnixMillis) -> String {
    if time == time.utc_day().end() { day(time) } else { moment(time) }
}

fn clock(time: UnixMillis) -> String {
    let minutes = time.0.div_euclid(60_000);
    format!("{:02}:{:02}", minutes.div_euclid(60).rem_euclid(24), minutes.rem_euclid(60))
}
