//! Slots for building snapshots: how they are shared between owners.

use std::pin::Pin;

use control::testing::snapshots::{BuildSlot, BuildSlots};
use futures_util::FutureExt;

/// A build that waits for a slot.
type Waiting<'t> = Pin<Box<dyn Future<Output = Option<BuildSlot>> + 't>>;

/// A slot, if one is free now.
fn take_now(slots: &BuildSlots, owner: &str) -> Option<BuildSlot> {
    slots.acquire(owner).now_or_never().flatten()
}

fn queue<'t>(slots: &'t BuildSlots, owner: &'t str) -> Waiting<'t> {
    let mut waiting: Waiting<'t> = Box::pin(slots.acquire(owner));
    assert!(poll_slot(&mut waiting).is_none(), "{owner} does not have to wait");
    waiting
}

fn poll_slot(waiting: &mut Waiting<'_>) -> Option<BuildSlot> {
    waiting.now_or_never().flatten()
}

/// No slot is taken, and no owner remembered.
fn assert_idle(slots: &BuildSlots) {
    assert_eq!(format!("{slots:?}"), format!("{:?}", BuildSlots::default()));
}

#[tokio::test]
async fn one_owner_never_takes_all_slots() {
    let slots = BuildSlots::default();
    let mut held = vec![take_now(&slots, "mallory").unwrap(), take_now(&slots, "mallory").unwrap()];
    let mut more = queue(&slots, "mallory");
    for _ in 0..2 {
        held.push(take_now(&slots, "ada").unwrap());
    }
    assert!(take_now(&slots, "bob").is_none(), "there are four slots");
    drop(held.remove(0));
    let third = poll_slot(&mut more);
    assert!(third.is_some());
    drop((held, third, more));
    assert_idle(&slots);
}

#[tokio::test]
async fn owners_alternate_however_many_builds_one_requests() {
    let slots = BuildSlots::default();
    let mut mallory = vec![take_now(&slots, "mallory").unwrap(), take_now(&slots, "mallory").unwrap()];
    let eve = [take_now(&slots, "eve").unwrap(), take_now(&slots, "eve").unwrap()];
    let mut hundred: Vec<_> = (0..100).map(|_| queue(&slots, "mallory")).collect();
    let mut ada = queue(&slots, "ada");
    // Ada's build came last and still is next.
    drop(mallory.remove(0));
    assert!(poll_slot(&mut hundred[0]).is_none());
    let first = poll_slot(&mut ada);
    assert!(first.is_some());
    // Then the earlier requests follow, one after the other.
    drop(first);
    let second = poll_slot(&mut hundred[0]);
    assert!(second.is_some() && poll_slot(&mut hundred[1]).is_none());
    drop((mallory, eve, hundred, ada, second));
    assert_idle(&slots);
}

#[tokio::test]
async fn a_dropped_waiter_leaves_the_queue() {
    let slots = BuildSlots::default();
    let mut held: Vec<BuildSlot> = ["mallory", "mallory", "eve", "eve"].map(|owner| take_now(&slots, owner).unwrap()).into();
    let (share, queued, mut last) = (queue(&slots, "mallory"), queue(&slots, "ada"), queue(&slots, "bob"));
    drop(share);
    // Ada's request has its slot now, but is dropped without being polled.
    drop(held.pop());
    drop(queued);
    let slot = poll_slot(&mut last);
    assert!(slot.is_some());
    drop((held, slot, last));
    assert_idle(&slots);
}
