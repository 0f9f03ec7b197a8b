//! Sliding windows: when the next may come, when a stop ends, and what is kept.

use control::testing::credentials::{Times, UnderWay};
use shared::ids::AccountId;
use shared::limit::Rate;
use shared::time::UnixMillis;

const RATE: Rate = Rate { count: 3, window: 10_000 };

fn times(of: &[i64]) -> Times {
    Times::parse(&serde_json::to_string(of).unwrap()).unwrap()
}

#[test]
fn a_window_slides() {
    assert_eq!(times(&[0, 1_000]).wait(RATE, UnixMillis(2_000)), None);
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(2_000)), Some(8));
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(9_999)), Some(1));
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(10_000)), None);
    assert_eq!(times(&[1_000, 2_000, 10_000]).wait(RATE, UnixMillis(10_000)), Some(1));
}

#[test]
fn a_stop_lasts_from_the_last_of_them() {
    assert_eq!(times(&[0, 5_000]).stop(RATE, UnixMillis(5_000)), None);
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(9_000)), Some(10));
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(18_999)), Some(1));
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(19_000)), None);
    // Three that took longer than the window are no stop.
    assert_eq!(times(&[0, 5_000, 10_000]).stop(RATE, UnixMillis(10_000)), None);
}

#[test]
fn a_clock_that_is_set_back_a_little_forgives_nothing_and_by_much_holds_nobody_up() {
    assert_eq!(times(&[5_000, 5_000, 5_001]).wait(RATE, UnixMillis(4_999)), Some(11));
    assert_eq!(times(&[90_000, 90_000, 90_000]).wait(RATE, UnixMillis(4_999)), None);
    let mut future = times(&[90_000, 90_000, 90_000]);
    future.add(RATE, UnixMillis(5_000));
    assert_eq!(future, times(&[5_000]));
}

#[test]
fn no_more_is_kept_than_is_asked_for() {
    let mut kept = times(&[1_000, 2_000, 3_000]);
    kept.add(RATE, UnixMillis(4_000));
    assert_eq!(kept, times(&[2_000, 3_000, 4_000]));
    kept.add(RATE, UnixMillis(12_500));
    assert_eq!(kept, times(&[3_000, 4_000, 12_500]));
}

#[test]
fn each_account_has_its_own_slots_and_gets_them_back() {
    let under_way = UnderWay::default();
    let [ada, bob] = [1, 2].map(|number| AccountId::v7(UnixMillis(0), [number; 10]));
    let first = under_way.enter(&ada, 2);
    let second = under_way.enter(&ada, 2);
    assert!(first.is_some() && second.is_some() && under_way.enter(&ada, 2).is_none());
    let third = under_way.enter(&bob, 1);
    assert!(third.is_some());
    drop(first);
    assert_eq!((under_way.count(&ada), under_way.count(&bob)), (1, 1));
    assert!(under_way.enter(&ada, 2).is_some());
    drop((second, third));
    assert_eq!(format!("{under_way:?}"), format!("{:?}", UnderWay::default()), "no account is remembered");
}
