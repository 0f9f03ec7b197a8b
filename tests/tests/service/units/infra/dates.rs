//! Times as people read them.

use control::testing::dashboard::{day, end, moment, second};
use shared::time::UnixMillis;

#[test]
fn times_are_told_in_words() {
    let time = UnixMillis(1_796_306_745_999);
    assert_eq!([day(time), moment(time), second(time)], ["3 December 2026", "3 December 2026, 14:05 UTC", "3 December 2026, 14:05:45 UTC"]);
    assert_eq!([end(time), end(UnixMillis(1_796_342_399_999))], ["3 December 2026, 14:05 UTC", "3 December 2026"]);
    assert_eq!(second(UnixMillis(-1)), "31 December 1969, 23:59:59 UTC");
}
