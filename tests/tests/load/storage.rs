//! The soak test of the storage in small, with fixed seeds; `cargo xtask soak storage` runs the large one.

use tests::soak::storage::{Plan, Store, run};

#[tokio::test(flavor = "multi_thread")]
async fn in_a_folder_no_release_loses_its_bundle_and_nothing_else_stays() {
    let outcome = run(Plan { store: Store::Folder, steps: 400, kills: 16, seed: 1 }).await;
    println!("{outcome}");
    assert!(outcome.faults.is_empty(), "{outcome}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_bucket_no_release_loses_its_bundle_and_nothing_else_stays() {
    let outcome = run(Plan { store: Store::Bucket, steps: 300, kills: 12, seed: 2 }).await;
    println!("{outcome}");
    assert!(outcome.faults.is_empty(), "{outcome}");
}
