//! A cache that is bounded in bytes: the least recently used goes first.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What an entry takes besides its value and its key: its places in both maps, rounded up.
const ENTRY_OVERHEAD: usize = 512;

/// Values by key, with what each weighs.
#[derive(Debug)]
pub struct Lru<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Ticks of use to keys, oldest first; one per entry.
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
    /// An empty one that holds at most `max_bytes`, or a single value that is larger.
    pub fn new(max_bytes: usize) -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), tick: 0, bytes: 0, max_bytes }
    }

    /// The value, which counts as used.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.get_mut(key)?;
        // The newest entry stays where it is, so that one busy key costs no work on the order.
        if entry.used != self.tick
            && let Some(owned) = self.order.remove(&entry.used)
        {
            self.tick += 1;
            entry.used = self.tick;
            self.order.insert(self.tick, owned);
        }
        Some(&mut entry.value)
    }

    /// The value; that it was looked at does not count.
    pub fn peek<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Keeps a value of `weight` bytes in place of the one that it held for the key, and lets go what it has no room for.
    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        self.remove(&key);
        let weight = weight + 2 * key.as_ref().len() + ENTRY_OVERHEAD;
        self.tick += 1;
        self.bytes += weight;
        self.order.insert(self.tick, key.clone());
        self.entries.insert(key, Entry { value, weight, used: self.tick });
        // The one just put in stays, however large: made anew for every request, it would cost the most.
        while self.bytes > self.max_bytes
            && self.order.len() > 1
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    /// Lets a value go.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes = self.bytes.saturating_sub(entry.weight);
        }
    }

    /// The bytes that it holds, as it counts them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
