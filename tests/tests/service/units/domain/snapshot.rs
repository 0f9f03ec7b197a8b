//! Slots for building snapshots: how they are shared between owners.

use std::pin::Pin;

use control::testing::snapshots::{Turn, Turns};
use futures_util::FutureExt;

/// A build that waits for a slot.
type Waiting<'t> = Pin<Box<dyn Future<Output = Option<Turn>> + 't>>;

/// A slot, if one is free now.
fn take_now(turns: &Turns, owner: &str) -> Option<Turn> {
    turns.take(owner).now_or_never().flatten()
}

fn queue<'t>(turns: &'t Turns, owner: &'t str) -> Waiting<'t> {
    let mut waiting: Waiting<'t> = Box::pin(turns.take(owner));
    assert!(poll_turn(&mut waiting).is_none(), "{owner} does not have to wait");
    waiting
}

fn poll_turn(waiting: &mut Waiting<'_>) -> Option<Turn> {
    waiting.now_or_never().flatten()
}

/// No slot is taken, and no owner remembered.
fn assert_idle(turns: &Turns) {
    assert_eq!(format!("{turns:?}"), format!("{:?}", Turns::default()));
}

#[tokio::test]
async fn one_owner_never_takes_all_slots() {
    let turns = Turns::default();
    let mut held = vec![take_now(&turns, "mallory").unwrap(), take_now(&turns, "mallory").unwrap()];
    let mut more = queue(&turns, "mallory");
    for _ in 0..2 {
        held.push(take_now(&turns, "ada").unwrap());
    }
    assert!(take_now(&turns, "bob").is_none(), "there are four slots");
    drop(held.remove(0));
    let third = poll_turn(&mut more);
    assert!(third.is_some());
    drop((held, third, more));
    assert_idle(&turns);
}

#[tokio::test]
async fn owners_alternate_however_many_builds_one_requests() {
    let turns = Turns::default();
    let mut mallory = vec![take_now(&turns, "mallory").unwrap(), take_now(&turns, "mallory").unwrap()];
    let eve = [take_now(&turns, "eve").unwrap(), take_now(&turns, "eve").unwrap()];
    let mut hundred: Vec<_> = (0..100).map(|_| queue(&turns, "mallory")).collect();
    let mut ada = queue(&turns, "ada");
    // Ada's build came last and still is next.
    drop(mallory.remove(0));
    assert!(poll_turn(&mut hundred[0]).is_none());
    let first = poll_turn(&mut ada);
    assert!(first.is_some());
    // Then the earlier requests follow, one after the other.
    drop(first);
    let second = poll_turn(&mut hundred[0]);
    assert!(second.is_some() && poll_turn(&mut hundred[1]).is_none());
    drop((mallory, eve, hundred, ada, second));
    assert_idle(&turns);
}

#[tokio::test]
async fn a_dropped_waiter_leaves_the_queue() {
    let turns = Turns::default();
    let mut held: Vec<Turn> = ["mallory", "mallory", "eve", "eve"].map(|owner| take_now(&turns, owner).unwrap()).into();
    let (share, slots, mut last) = (queue(&turns, "mallory"), queue(&turns, "ada"), queue(&turns, "bob"));
    drop(share);
    // Ada's request has its slot now, but is dropped without being polled.
    drop(held.pop());
    drop(slots);
    let turn = poll_turn(&mut last);
    assert!(turn.is_some());
    drop((held, turn, last));
    assert_idle(&turns);
}
