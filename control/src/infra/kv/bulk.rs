//! The body of one bulk write, kept within KV's limits while it is filled.

use std::collections::HashSet;

use serde::Serialize;
use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};

/// KV's limit for one bulk write.
const MOST_PAIRS: usize = 10_000;
/// KV's limit for one bulk write, and so for a pair that is written alone.
const MOST_BYTES: usize = 50_000_000;
/// KV's limit for a value.
const MOST_VALUE: usize = 25 << 20;
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
    pub(crate) fn body(&self) -> String {
        format!("{}]", self.body)
    }
}

impl Default for Bulk {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(bulk.push(&key(1), 9, "y"), Pushed::Full, "no key twice");
    }

    #[test]
    fn it_stays_within_the_limits() {
        let mut bulk = Bulk::new();
        let large = "x".repeat(3 << 20);
        assert_eq!(bulk.push(&key(1), 1, &"x".repeat(MOST_VALUE + 1)), Pushed::TooLarge);
        assert_eq!(bulk.push(&key(1), 1, &"x".repeat(MOST_VALUE)), Pushed::In, "a large one goes alone");
        assert_eq!(bulk.push(&key(2), 1, "x"), Pushed::Full);
        let mut bulk = Bulk::new();
        assert_eq!(bulk.push(&key(1), 1, &large), Pushed::In);
        assert_eq!(bulk.push(&key(2), 1, &large), Pushed::Full);
        let mut bulk = Bulk::new();
        assert_eq!((0..MOST_PAIRS + 5).filter(|number| bulk.push(&key(*number), 1, "") == Pushed::In).count(), MOST_PAIRS);
    }
}
