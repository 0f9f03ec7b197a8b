//! Sliding windows: the time to wait, the end of a block, and what is stored.

use control::testing::credentials::{Times, UnderWay};
use shared::ids::AccountId;
use shared::limit::Rate;
use shared::time::UnixMillis;

const RATE: Rate = Rate { count: 3, window: 10_000 };

fn times(of: &[i64]) -> Times {
    Times::parse(&serde_json::to_string(of).unwrap()).unwrap()
}

#[test]
fn the_window_slides() {
    assert_eq!(times(&[0, 1_000]).wait(RATE, UnixMillis(2_000)), None);
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(2_000)), Some(8));
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(9_999)), Some(1));
    assert_eq!(times(&[0, 1_000, 2_000]).wait(RATE, UnixMillis(10_000)), None);
    assert_eq!(times(&[1_000, 2_000, 10_000]).wait(RATE, UnixMillis(10_000)), Some(1));
}

#[test]
fn a_block_starts_at_the_last_failure() {
    assert_eq!(times(&[0, 5_000]).stop(RATE, UnixMillis(5_000)), None);
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(9_000)), Some(10));
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(18_999)), Some(1));
    assert_eq!(times(&[0, 5_000, 9_000]).stop(RATE, UnixMillis(19_000)), None);
    // Three that took longer than the window cause no block.
    assert_eq!(times(&[0, 5_000, 10_000]).stop(RATE, UnixMillis(10_000)), None);
}

#[test]
fn setting_the_clock_back_clears_no_failures_and_blocks_nobody_for_long() {
    assert_eq!(times(&[5_000, 5_000, 5_001]).wait(RATE, UnixMillis(4_999)), Some(11));
    assert_eq!(times(&[90_000, 90_000, 90_000]).wait(RATE, UnixMillis(4_999)), None);
    let mut future = times(&[90_000, 90_000, 90_000]);
    future.add(RATE, UnixMillis(5_000));
    assert_eq!(future, times(&[5_000]));
}

#[test]
fn no_more_times_are_kept_than_the_limit() {
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
