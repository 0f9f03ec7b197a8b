//! Typed keys for Workers KV, so that publisher and reader cannot disagree.

use crate::keys::DeploymentKey;
use crate::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// A key in KV, with the types of its value and metadata.
pub trait KvKey {
    /// The prefix of every key of this kind.
    const PREFIX: &'static str;
    /// The type that the stored bytes parse to.
    type Value;
    /// The type of the key's JSON metadata.
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

/// The metadata of a snapshot, `{"version":…,"signer":…}`: lets the reconciler compare versions without reading values. A hint only: anyone who
/// can write to KV can write this too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMetadata {
    /// The snapshot's version.
    pub version: i64,
    /// The name of the key that signed it ([`crate::snapshot::SnapshotKeys::signer`]); `None` if the previous version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}
