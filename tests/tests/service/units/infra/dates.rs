//! Formatting of times.

use control::testing::dashboard::{RelativeTime, day, moment, relative, second};
use shared::time::UnixMillis;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// December 3, 2026, 14:05:45.999 UTC.
const TIME: UnixMillis = UnixMillis(1_796_306_745_999);

#[test]
fn exact_times_have_the_american_date() {
    assert_eq!(
        [day(TIME), moment(TIME), second(TIME)],
        ["December 3, 2026", "December 3, 2026, 14:05 UTC", "December 3, 2026, 14:05:45 UTC"]
    );
    assert_eq!(second(UnixMillis(-1)), "December 31, 1969, 23:59:59 UTC");
}

#[test]
fn relative_times_count_minutes_hours_and_days() {
    let cases = [
        (0, "just now"),
        (-MINUTE + 1, "just now"),
        (-MINUTE, "1 minute ago"),
        (-3 * MINUTE - 29 * SECOND, "3 minutes ago"),
        (-3 * MINUTE - 30 * SECOND, "4 minutes ago"),
        (-59 * MINUTE - 29 * SECOND, "59 minutes ago"),
        (-59 * MINUTE - 30 * SECOND, "1 hour ago"),
        (-HOUR, "1 hour ago"),
        (-23 * HOUR - 29 * MINUTE, "23 hours ago"),
        (-23 * HOUR - 30 * MINUTE, "1 day ago"),
        (-DAY, "1 day ago"),
        (-14 * DAY, "14 days ago"),
        (1, "in less than a minute"),
        (MINUTE - 1, "in less than a minute"),
        (MINUTE, "in 1 minute"),
        (2 * HOUR - SECOND, "in 2 hours"),
        (DAY, "in 1 day"),
        (60 * DAY - SECOND, "in 60 days"),
        (60 * DAY, "in 60 days"),
        (400 * DAY, "in 400 days"),
    ];
    for (distance, text) in cases {
        assert_eq!(relative(TIME.plus_millis(distance), TIME), text, "{distance}");
    }
}

#[test]
fn days_are_those_between_the_dates() {
    // A key that expires at the end of the 60th day, at any time of the first day.
    let midnight = UnixMillis(TIME.0 - TIME.0.rem_euclid(DAY));
    let end = midnight.plus_millis(60 * DAY).utc_day().end();
    for now in [midnight, TIME, midnight.plus_millis(DAY - 1)] {
        assert_eq!(relative(end, now), "in 60 days");
    }
    // Almost a day, on one date.
    assert_eq!(relative(midnight.utc_day().end(), midnight), "in 1 day");
}

#[test]
fn the_most_distant_times_can_be_formatted() {
    let (first, last) = (UnixMillis(i64::MIN), UnixMillis(i64::MAX));
    assert_eq!(relative(last, first), "in 213503982335 days");
    assert_eq!(relative(first, last), "213503982335 days ago");
}

#[test]
fn a_relative_time_includes_the_exact_time() {
    let time = RelativeTime::of(TIME, TIME.plus_millis(-2 * HOUR));
    assert_eq!([1, 0, -1].map(|later| RelativeTime::of(TIME.plus_millis(later), TIME).is_past), [false, true, true]);
    assert_eq!(
        [time.text, time.exact, time.iso8601],
        ["in 2 hours", "December 3, 2026, 14:05 UTC", "2026-12-03T14:05:45.999Z"].map(str::to_owned)
    );
}
