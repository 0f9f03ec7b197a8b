//! What the edge and control exchange besides reports: versions of snapshots, and what the edge did not trust.

use crate::keys::DeploymentKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most keys in one question for versions.
pub const MAX_VERSIONS: usize = 20;

/// The answer to `GET /internal/v1/versions?keys=`, which has keys separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionsAnswer {
    /// The current version of each key's snapshot; keys that never existed are left out.
    pub versions: BTreeMap<DeploymentKey, i64>,
}

/// The body of `POST /internal/v1/edge-counters`. The same call again counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeCounters {
    /// Names the isolate, from its start to its end: 1 to 64 letters and digits.
    pub isolate: String,
    /// The number of the call, from 1.
    pub sequence: i64,
    /// What happened since the last call.
    pub counts: Distrusted,
}

/// How often the edge did not trust what it was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Distrusted {
    /// Snapshots that control had not signed for their key.
    #[serde(default)]
    pub distrusted: u32,
    /// Snapshots that were signed more than 36 hours ago.
    #[serde(default)]
    pub old: u32,
    /// Snapshots in KV with a lower version than control has.
    #[serde(default)]
    pub replayed: u32,
    /// Bundles whose bytes do not have the hash that names them.
    #[serde(default)]
    pub altered_bundles: u32,
}

impl Distrusted {
    /// Whether nothing happened.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
