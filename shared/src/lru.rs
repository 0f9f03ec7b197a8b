//! An LRU cache that is bounded in bytes.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// The memory of an entry besides key and value: its slots in both maps, rounded up.
const ENTRY_OVERHEAD: usize = 512;

/// Values by key, each with its weight in bytes.
#[derive(Debug)]
pub struct Lru<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keys by the tick of their last use, oldest first; one per entry.
    order: BTreeMap<u64, K>,
    tick: u64,
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: AsRef<str> + Clone + Eq + Hash, V> Lru<K, V> {
    /// An empty cache that holds at most `max_bytes`, or one larger value.
    pub fn new(max_bytes: usize) -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), tick: 0, bytes: 0, max_bytes }
    }

    /// Returns the value and marks it as used.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.get_mut(key)?;
        // The newest entry keeps its place, so that one busy key does not update the order on each access.
        if entry.used != self.tick
            && let Some(owned) = self.order.remove(&entry.used)
        {
            self.tick += 1;
            entry.used = self.tick;
            self.order.insert(self.tick, owned);
        }
        Some(&mut entry.value)
    }

    /// Returns the value without marking it as used.
    pub fn peek<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Inserts or replaces a value of `weight` bytes, then evicts entries until the cache is within its bound.
    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        self.remove(&key);
        let weight = weight + 2 * key.as_ref().len() + ENTRY_OVERHEAD;
        self.tick += 1;
        self.bytes += weight;
        self.order.insert(self.tick, key.clone());
        self.entries.insert(key, Entry { value, weight, used: self.tick });
        // Never evict the new entry, however large: rebuilding it for every request would cost the most.
        while self.bytes > self.max_bytes
            && self.order.len() > 1
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    /// Removes a value.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.weight);
        }
    }

    /// The bytes in use, as estimated by the cache.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
