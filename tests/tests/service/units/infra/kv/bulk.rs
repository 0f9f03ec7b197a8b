//! Bulk writes to KV: their format and KV's limits.

use control::testing::snapshots::{Bulk, MAX_PAIRS, MAX_VALUE_BYTES, Pushed};
use shared::keys::DeploymentKey;
use shared::kv::SnapshotMetadata;

fn key(number: usize) -> DeploymentKey {
    DeploymentKey::try_from(format!("deployment-{number:06}")).unwrap()
}

fn of(version: i64) -> SnapshotMetadata {
    SnapshotMetadata { version, signer: Some("0a1b2c3d".to_owned()) }
}

#[test]
fn pairs_are_an_array_with_their_metadata() {
    let mut bulk = Bulk::new();
    assert_eq!(bulk.body(), "[]");
    assert_eq!(bulk.push(&key(1), &of(7), r#"{"f":1}"#), Pushed::In);
    assert_eq!(bulk.push(&key(2), &of(8), "x"), Pushed::In);
    let body: serde_json::Value = serde_json::from_str(&bulk.body()).unwrap();
    assert_eq!(body[0]["key"], "deployment/deployment-000001");
    assert_eq!(body[0]["value"], r#"{"f":1}"#);
    assert_eq!(body[1]["metadata"], serde_json::json!({ "version": 8, "signer": "0a1b2c3d" }));
    assert_eq!(bulk.len(), 2);
    assert_eq!(bulk.push(&key(1), &of(9), "y"), Pushed::Full, "no duplicate keys");
}

#[test]
fn a_bulk_write_stays_within_the_limits() {
    let mut bulk = Bulk::new();
    let large = "x".repeat(3 << 20);
    assert_eq!(bulk.push(&key(1), &of(1), &"x".repeat(MAX_VALUE_BYTES + 1)), Pushed::TooLarge);
    assert_eq!(bulk.push(&key(1), &of(1), &"x".repeat(MAX_VALUE_BYTES)), Pushed::In, "a large value is written alone");
    assert_eq!(bulk.push(&key(2), &of(1), "x"), Pushed::Full);
    let mut bulk = Bulk::new();
    assert_eq!(bulk.push(&key(1), &of(1), &large), Pushed::In);
    assert_eq!(bulk.push(&key(2), &of(1), &large), Pushed::Full);
    let mut bulk = Bulk::new();
    assert_eq!((0..MAX_PAIRS + 5).filter(|number| bulk.push(&key(*number), &of(1), "") == Pushed::In).count(), MAX_PAIRS);
}
