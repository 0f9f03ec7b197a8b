//! The soak test of diffs in small, with a fixed seed; `cargo xtask soak diffs` runs the large one.

use tests::soak::diffs::{Plan, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_killed_makes_every_diff_and_none_wrong() {
    let outcome = run(Plan { releases: 24, kills: 6, least: 20, seed: 1 }).await;
    println!("{outcome}");
    assert!(outcome.faults.is_empty(), "{outcome}");
    assert!(outcome.offered > 0, "{outcome}");
}
