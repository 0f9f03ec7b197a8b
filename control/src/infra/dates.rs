//! Times as people read them, in UTC: on pages and in mails.

use shared::time::UnixMillis;
use time::OffsetDateTime;

/// A time to the second: `3 December 2026, 14:05:09 UTC`.
pub fn second(time: UnixMillis) -> String {
    at(time).map_or_else(|| time.iso8601(), |at| format!("{}, {}:{:02} UTC", date(at), clock(at), at.second()))
}

/// A time to the minute: `3 December 2026, 14:05 UTC`.
pub fn moment(time: UnixMillis) -> String {
    at(time).map_or_else(|| time.iso8601(), |at| format!("{}, {} UTC", date(at), clock(at)))
}

/// A day: `3 December 2026`.
pub fn day(time: UnixMillis) -> String {
    at(time).map_or_else(|| time.utc_date(), date)
}

/// Until when something holds: the day alone when it holds to the day's end, as forms that ask for a day have it.
pub fn end(time: UnixMillis) -> String {
    let next = time.plus_millis(1);
    if time.utc_day() < next.utc_day() { day(time) } else { moment(time) }
}

fn at(time: UnixMillis) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(time.0.div_euclid(1_000)).ok()
}

fn date(at: OffsetDateTime) -> String {
    format!("{} {} {}", at.day(), at.month(), at.year())
}

fn clock(at: OffsetDateTime) -> String {
    format!("{:02}:{:02}", at.hour(), at.minute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_words() {
        let time = UnixMillis(1_796_306_745_999);
        assert_eq!(
            [day(time), moment(time), second(time)],
            ["3 December 2026", "3 December 2026, 14:05 UTC", "3 December 2026, 14:05:45 UTC"]
        );
        assert!(moment(UnixMillis(i64::MAX)).ends_with('Z') && second(UnixMillis(i64::MAX)).ends_with('Z'));
        assert_eq!([end(time), end(UnixMillis(1_796_342_399_999))], ["3 December 2026, 14:05 UTC", "3 December 2026"]);
        assert_eq!(second(UnixMillis(-1)), "31 December 1969, 23:59:59 UTC");
    }
}
