//! The soak test in small, with a fixed seed; `cargo xtask soak` runs the large one.

use tests::soak::{Plan, run};

#[tokio::test(flavor = "multi_thread")]
async fn counters_depend_only_on_the_set_of_events() {
    let outcome = run(Plan { events: 6_000, clients: 300, kills: 3, seed: 1 }).await;
    println!("{outcome}");
    assert!(outcome.faults.is_empty(), "{outcome}");
}
