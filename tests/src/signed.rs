//! Signed snapshots: what control writes to KV, and what a test puts there in its place.

use serde_json::Value;
use shared::ids::{AppId, DeploymentId};
use shared::keys::DeploymentKey;
use shared::signature::Secrets;
use shared::snapshot::{Snapshot, SnapshotHeader, SnapshotKeys};
use shared::time::UnixMillis;

use crate::Clock;
use crate::app::EDGE_SECRET;

/// The keys of this `EDGE_SECRET`.
pub fn keys_of(secret: &str) -> SnapshotKeys {
    SnapshotKeys::derive(&Secrets::parse(secret).unwrap())
}

/// The snapshot that a value has for this deployment key, signed with the tests' `EDGE_SECRET`.
pub fn opened(key: &str, value: &[u8]) -> Snapshot {
    Snapshot::parse(json_of(key, value)).unwrap()
}

/// The JSON of such a value.
pub fn json(key: &str, value: &[u8]) -> Value {
    serde_json::from_slice(json_of(key, value)).unwrap()
}

fn json_of<'v>(key: &str, value: &'v [u8]) -> &'v [u8] {
    let key = DeploymentKey::try_from(key).unwrap();
    keys_of(EDGE_SECRET).verify(&key, value).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(value)))
}

/// The header of a snapshot that no control plane wrote, signed now.
pub fn header(version: i64) -> SnapshotHeader {
    header_signed(version, Clock::System.now())
}

/// The header of such a snapshot, signed then.
pub fn header_signed(version: i64, created: UnixMillis) -> SnapshotHeader {
    SnapshotHeader { deployment: DeploymentId::v7(created, [1; 10]), app: AppId::v7(created, [2; 10]), version, created }
}

/// The signed value of an empty snapshot.
pub fn empty(secret: &str, key: &str) -> String {
    sign(secret, key, &Snapshot::publish(&header(1), &[]).unwrap())
}

/// The signed value of a snapshot's JSON.
pub fn sign(secret: &str, key: &str, json: &str) -> String {
    keys_of(secret).sign(&DeploymentKey::try_from(key).unwrap(), json)
}
