//! An import that is killed at many points ends like one that was never killed: the short form of `cargo xtask soak import`.

use tests::soak::import::{Plan, Point, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_import_continues() {
    let plan = Plan { apps: 2, deployments: 5, releases: 40, kills: 8, checks: 300, point: Point::Line, seed: 25 };
    let outcome = run(plan).await;
    assert!(outcome.faults.is_empty(), "{outcome}");
}
