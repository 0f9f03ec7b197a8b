//! The body of one bulk write, kept within KV's limits while it is filled.

use std::collections::HashSet;

use serde::Serialize;
use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};

/// KV's limit for one bulk write, in pairs.
pub const MOST_PAIRS: usize = 10_000;
/// KV's limit for one bulk write, and so for a pair that is written alone.
const MOST_BYTES: usize = 50_000_000;
/// KV's limit for a value, in bytes.
pub const MOST_VALUE: usize = 25 << 20;
/// A body that has reached this takes no further pair: a small one is answered long before the time-out, and costs little to repeat.
const FULL_BYTES: usize = 4 << 20;

/// Key-value pairs as the JSON array that KV's bulk write takes; each key at most once.
#[derive(Debug)]
pub struct Bulk {
    body: String,
    names: HashSet<String>,
}

/// What became of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is in.
    In,
    /// There is no room left for it in this one.
    Full,
    /// KV does not take so large a value.
    TooLarge,
}

#[derive(Serialize)]
struct Pair<'p> {
    key: &'p str,
    value: &'p str,
    metadata: SnapshotMetadata,
}

impl Bulk {
    /// One without pairs.
    pub fn new() -> Self {
        Self { body: String::from("["), names: HashSet::new() }
    }

    /// Adds a key's snapshot.
    pub fn push(&mut self, key: &DeploymentKey, version: i64, text: &str) -> Pushed {
        let name = SnapshotKey(key).name();
        // Texts and numbers always have a JSON form; there is no error to give.
        let pair = serde_json::to_string(&Pair { key: &name, value: text, metadata: SnapshotMetadata { version } }).unwrap_or_default();
        if text.len() > MOST_VALUE || pair.len() + 2 > MOST_BYTES {
            return Pushed::TooLarge;
        }
        if !self.names.is_empty() {
            if self.names.len() >= MOST_PAIRS || self.body.len() + pair.len() + 2 > FULL_BYTES || self.names.contains(&name) {
                return Pushed::Full;
            }
            self.body.push(',');
        }
        self.body.push_str(&pair);
        self.names.insert(name);
        Pushed::In
    }

    /// How many pairs it has.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it has none.
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
