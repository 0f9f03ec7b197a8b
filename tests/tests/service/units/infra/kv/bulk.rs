//! Bulk writes to KV: their format and KV's limits.

use control::testing::snapshots::{Bulk, MAX_PAIRS, MAX_VALUE_BYTES, Pushed};
use shared::keys::DeploymentKey;

fn key(number: usize) -> DeploymentKey {
    DeploymentKey::try_from(format!("deployment-{number:06}")).unwrap()
}

#[test]
fn pairs_are_an_array_with_their_versions() {
    let mut bulk = Bulk::new();
    assert_eq!(bulk.body(), "[]");
    assert_eq!(bulk.push(&key(1), 7, r#"{"f":1}"#), Pushed::In);
    assert_eq!(bulk.push(&key(2), 8, "x"), Pushed::In);
    let body: serde_json::Value = serde_json::from_str(&bulk.body()).unwrap();
    assert_eq!(body[0]["key"], "deployment/deployment-000001");
    assert_eq!(body[0]["value"], r#"{"f":1}"#);
    assert_eq!(body[1]["metadata"]["version"], 8);
    assert_eq!(bulk.len(), 2);
    assert_eq!(bulk.push(&key(1), 9, "y"), Pushed::Full, "no duplicate keys");
}

#[test]
fn a_bulk_write_stays_within_the_limits() {
    let mut bulk = Bulk::new();
    let large = "x".repeat(3 << 20);
    assert_eq!(bulk.push(&key(1), 1, &"x".repeat(MAX_VALUE_BYTES + 1)), Pushed::TooLarge);
    assert_eq!(bulk.push(&key(1), 1, &"x".repeat(MAX_VALUE_BYTES)), Pushed::In, "a large value is written alone");
    assert_eq!(bulk.push(&key(2), 1, "x"), Pushed::Full);
    let mut bulk = Bulk::new();
    assert_eq!(bulk.push(&key(1), 1, &large), Pushed::In);
    assert_eq!(bulk.push(&key(2), 1, &large), Pushed::Full);
    let mut bulk = Bulk::new();
    assert_eq!((0..MAX_PAIRS + 5).filter(|number| bulk.push(&key(*number), 1, "") == Pushed::In).count(), MAX_PAIRS);
}
