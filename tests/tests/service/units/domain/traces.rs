//! Failures and warnings that are not written yet.

use std::net::IpAddr;

use control::testing::ClientAddress;
use control::testing::audit::{Backlog, FailureEvent, Warning};
use shared::ids::AccountId;
use shared::time::UnixMillis;

/// The most entries of each sort that are kept.
const MAX_ENTRIES: usize = 4_096;

fn account(number: u16) -> AccountId {
    let [high, low] = number.to_be_bytes();
    AccountId::v7(UnixMillis(0), [0, 0, 0, 0, 0, 0, 0, 0, high, low])
}

#[test]
fn failures_of_one_kind_and_account_share_an_entry_and_entries_are_bounded() {
    let (mut backlog, from) = (Backlog::default(), ClientAddress(IpAddr::from([192, 0, 2, 1])));
    for number in 0..10_000_u16 {
        backlog.fail(FailureEvent::Bearer, "unknown", &account(number), from);
        backlog.fail(FailureEvent::Bearer, "unknown", &account(0), from);
        backlog.warn(&account(number), Warning::WrongFactor, from);
    }
    let (failures, warnings) = backlog.take();
    assert_eq!((failures.len(), warnings.len()), (MAX_ENTRIES, MAX_ENTRIES));
    assert!(!backlog.is_empty(), "what is taken is not written yet");
    let first = failures.iter().find(|failures| failures.account == account(0)).unwrap();
    assert_eq!(first.count, 10_001);
    for failures in failures {
        backlog.give_back(failures);
    }
    for _ in warnings {
        backlog.done();
    }
    let (failures, warnings) = backlog.take();
    assert_eq!((failures.len(), warnings.len()), (MAX_ENTRIES, 0));
    for _ in failures {
        backlog.done();
    }
    assert!(backlog.is_empty());
}
