//! The body of one bulk write, built within KV's limits.

use std::collections::HashSet;

use serde::Serialize;
use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};

/// KV's maximum number of pairs in one bulk write.
pub const MAX_PAIRS: usize = 10_000;
/// KV's maximum size of one bulk write, and so of a pair that is written alone.
const MAX_BYTES: usize = 50_000_000;
/// KV's maximum size of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 25 << 20;
/// The size at which a body is full. A small body is answered long before the timeout, and is cheap to retry.
const FULL_BYTES: usize = 4 << 20;

/// Key-value pairs as the JSON array of a KV bulk write; each key at most once.
#[derive(Debug)]
pub struct Bulk {
    body: String,
    names: HashSet<String>,
}

/// The result of adding a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Added.
    In,
    /// The body has no room for it.
    Full,
    /// The value exceeds KV's limit.
    TooLarge,
}

#[derive(Serialize)]
struct Pair<'p> {
    key: &'p str,
    value: &'p str,
    metadata: &'p SnapshotMetadata,
}

impl Bulk {
    /// An empty body.
    pub fn new() -> Self {
        Self { body: String::from("["), names: HashSet::new() }
    }

    /// Adds a key's snapshot.
    pub fn push(&mut self, key: &DeploymentKey, metadata: &SnapshotMetadata, text: &str) -> Pushed {
        let name = SnapshotKey(key).name();
        // Cannot fail: texts and numbers always serialize.
        let pair = serde_json::to_string(&Pair { key: &name, value: text, metadata }).unwrap_or_default();
        if text.len() > MAX_VALUE_BYTES || pair.len() + 2 > MAX_BYTES {
            return Pushed::TooLarge;
        }
        if !self.names.is_empty() {
            if self.names.len() >= MAX_PAIRS || self.body.len() + pair.len() + 2 > FULL_BYTES || self.names.contains(&name) {
                return Pushed::Full;
            }
            self.body.push(',');
        }
        self.body.push_str(&pair);
        self.names.insert(name);
        Pushed::In
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it has no pairs.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The keys' names in KV.
    pub(crate) fn names(&self) -> &HashSet<String> {
        &self.names
    }

    /// The finished body.
    pub fn body(&self) -> String {
        format!("{}]", self.body)
    }
}

impl Default for Bulk {
    fn default() -> Self {
        Self::new()
    }
}
