//! The keys under which values lie in Workers KV, as types, so that publisher and reader cannot disagree.

use crate::keys::DeploymentKey;
use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// A key in KV, with what lies under it.
pub trait KvKey {
    /// The beginning of every key of this kind.
    const PREFIX: &'static str;
    /// What the stored bytes parse to.
    type Value;
    /// What stands in the key's metadata, as JSON.
    type Metadata;

    /// The part after the prefix.
    fn suffix(&self) -> &str;

    /// The whole key.
    fn name(&self) -> String {
        format!("{}{}", Self::PREFIX, self.suffix())
    }
}

/// The key of a deployment's snapshot: `deployment/{deployment key}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotKey<'k>(pub &'k DeploymentKey);

impl KvKey for SnapshotKey<'_> {
    const PREFIX: &'static str = "deployment/";
    type Value = Snapshot;
    type Metadata = SnapshotMetadata;

    fn suffix(&self) -> &str {
        self.0.as_str()
    }
}

/// The KV key of a deployment's snapshot: `deployment/{deployment key}`.
pub fn snapshot_key(key: &DeploymentKey) -> String {
    SnapshotKey(key).name()
}

/// The metadata beside a snapshot, `{"version":…}`: lets a reconcile compare versions without reading values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMetadata {
    /// The snapshot's version.
    pub version: i64,
}
