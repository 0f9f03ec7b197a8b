//! What an isolate remembers between requests: snapshots, unknown keys, and how often it asked control.
//!
//! Pure: time comes in as an argument, and nothing here is JavaScript's. `store` owns the one instance. Start with [`Memory::recall`].
//! An isolate is evicted at will, so this is a cache and never state.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use shared::lru::Lru;

/// Unknown keys are remembered for this long.
const UNKNOWN_MS: i64 = 30_000;
/// At most so many of them: random keys must not fill the memory.
const UNKNOWN_MOST: usize = 4_096;
/// A refresh behind an answer that has not come back after this long is taken for cancelled, and another request may start one.
const LEASE_MS: i64 = 10_000;
/// Look-ups at control per second.
const LOOK_UPS_PER_SECOND: usize = 20;

/// From when on a remembered snapshot is refreshed, and from when on it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// Milliseconds below which a snapshot is used as it is.
    pub fresh: i64,
    /// Milliseconds from which on a request waits for a newer one.
    pub stale: i64,
}

/// What memory says about a key.
#[derive(Debug)]
pub enum Recall<S> {
    /// Answer with this.
    Use(Rc<S>),
    /// Answer with this, and refresh it behind the answer: the lease is now the caller's.
    UseAndRefresh(Rc<S>),
    /// Look it up and wait.
    LookUp,
    /// Nobody knows this key, as of less than 30 s ago.
    Unknown,
}

struct Entry<S> {
    snapshot: Rc<S>,
    version: i64,
    /// When KV or control last confirmed it, ms.
    checked: i64,
    /// Nobody else refreshes it before this time, ms.
    leased_until: i64,
    /// It is used however old until this time, ms: the last look-up failed a moment ago.
    spared_until: i64,
}

/// What an entry is good for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// It is answered with.
    Good,
    /// It is answered with, and someone has to refresh it.
    Aged,
    /// It must be looked up again.
    Stale,
}

impl<S> Entry<S> {
    fn condition(&self, now: i64, ages: Ages) -> Condition {
        let age = now - self.checked;
        if age < ages.fresh || now < self.spared_until {
            Condition::Good
        } else if age >= ages.stale {
            Condition::Stale
        } else if now < self.leased_until {
            Condition::Good
        } else {
            Condition::Aged
        }
    }
}

/// Snapshots by key (least recently used out), unknown keys, and the look-up limit.
pub struct Memory<S> {
    entries: Lru<String, Entry<S>>,
    unknown: HashMap<String, i64>,
    unknown_order: VecDeque<(i64, String)>,
    look_ups: VecDeque<i64>,
}

impl<S> Memory<S> {
    /// An empty memory that holds at most `most_bytes`.
    pub fn new(most_bytes: usize) -> Self {
        Self { entries: Lru::new(most_bytes), unknown: HashMap::new(), unknown_order: VecDeque::new(), look_ups: VecDeque::new() }
    }

    /// What to do about `key` now.
    pub fn recall(&mut self, key: &str, now: i64, ages: Ages) -> Recall<S> {
        let Some(entry) = self.entries.get(key) else {
            return if self.unknown.get(key).is_some_and(|until| now < *until) { Recall::Unknown } else { Recall::LookUp };
        };
        match entry.condition(now, ages) {
            Condition::Good => Recall::Use(Rc::clone(&entry.snapshot)),
            Condition::Aged => {
                entry.leased_until = now + LEASE_MS;
                Recall::UseAndRefresh(Rc::clone(&entry.snapshot))
            }
            Condition::Stale => Recall::LookUp,
        }
    }

    /// The snapshot that [`Memory::recall`] would say to use, where nothing is to be done besides.
    pub fn good(&mut self, key: &str, now: i64, ages: Ages) -> Option<Rc<S>> {
        let condition = self.entries.peek(key)?.condition(now, ages);
        match (condition == Condition::Good).then(|| self.recall(key, now, ages))? {
            Recall::Use(snapshot) => Some(snapshot),
            Recall::UseAndRefresh(_) | Recall::LookUp | Recall::Unknown => None,
        }
    }

    /// The remembered snapshot, if it is at least as new as the version that a look-up found. It then counts as checked, and what was found need not
    /// even be parsed: of many requests that look up at once, only the first has that work.
    pub fn confirm(&mut self, key: &str, version: i64, now: i64) -> Option<Rc<S>> {
        let entry = self.entries.peek(key).filter(|entry| entry.version >= version)?;
        entry.checked = entry.checked.max(now);
        entry.leased_until = 0;
        entry.spared_until = 0;
        Some(Rc::clone(&entry.snapshot))
    }

    /// Takes in what a look-up found, and gives back what to answer with: the remembered snapshot when that is the newer one.
    ///
    /// A lower version never replaces a higher one: KV's copies are eventually consistent, and a client must not go back and forth. What is
    /// kept is at least as new as what was found, so it counts as checked.
    pub fn admit(&mut self, key: &str, found: Rc<S>, version: i64, weight: usize, now: i64) -> Rc<S> {
        if let Some(known) = self.confirm(key, version, now) {
            return known;
        }
        self.unknown.remove(key);
        let entry = Entry { snapshot: Rc::clone(&found), version, checked: now, leased_until: 0, spared_until: 0 };
        self.entries.insert(key.to_owned(), entry, weight);
        found
    }

    /// Notes that neither KV nor control could be asked, and gives the remembered snapshot, however old. It is then used without another
    /// try for `pause` ms, so that an outage does not make every request wait for its time-outs.
    pub fn spare(&mut self, key: &str, now: i64, pause: i64) -> Option<Rc<S>> {
        let entry = self.entries.peek(key)?;
        entry.leased_until = 0;
        entry.spared_until = now + pause;
        Some(Rc::clone(&entry.snapshot))
    }

    /// Notes that nobody knows this key.
    pub fn note_unknown(&mut self, key: &str, now: i64) {
        self.entries.remove(key);
        while let Some((until, _)) = self.unknown_order.front()
            && (*until <= now || self.unknown_order.len() >= UNKNOWN_MOST)
            && let Some((until, oldest)) = self.unknown_order.pop_front()
        {
            // A key that was noted again since has a later entry of its own.
            if self.unknown.get(&oldest) == Some(&until) {
                self.unknown.remove(&oldest);
            }
        }
        let until = now + UNKNOWN_MS;
        self.unknown.insert(key.to_owned(), until);
        self.unknown_order.push_back((until, key.to_owned()));
    }

    /// Whether one more look-up at control is within the limit; counts it if so.
    pub fn may_ask_control(&mut self, now: i64) -> bool {
        // A clock that was set back would otherwise close this for as long.
        while self.look_ups.front().is_some_and(|first| !(0..1_000).contains(&(now - first))) {
            self.look_ups.pop_front();
        }
        let allowed = self.look_ups.len() < LOOK_UPS_PER_SECOND;
        if allowed {
            self.look_ups.push_back(now);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGES: Ages = Ages { fresh: 5_000, stale: 30_000 };

    fn memory() -> Memory<&'static str> {
        Memory::new(32 << 20)
    }

    fn used(recall: &Recall<&'static str>) -> &'static str {
        match recall {
            Recall::Use(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn age_decides_between_use_refresh_and_look_up() {
        let mut memory = memory();
        assert!(matches!(memory.recall("k", 0, AGES), Recall::LookUp));
        assert_eq!(memory.good("k", 0, AGES), None);
        memory.admit("k", Rc::new("a"), 1, 10, 0);
        assert_eq!(used(&memory.recall("k", 4_999, AGES)), "a");
        assert_eq!(memory.good("k", 4_999, AGES).as_deref(), Some(&"a"));
        assert_eq!(memory.good("k", 5_000, AGES), None, "and it takes no lease");
        assert!(matches!(memory.recall("k", 5_000, AGES), Recall::UseAndRefresh(_)));
        assert_eq!(memory.good("k", 5_000, AGES).as_deref(), Some(&"a"));
        assert_eq!(memory.good("k", 30_000, AGES), None);
        assert_eq!(used(&memory.recall("k", 5_001, AGES)), "a");
        assert!(matches!(memory.recall("k", 15_000, AGES), Recall::UseAndRefresh(_)), "the lease expires by time");
        assert!(matches!(memory.recall("k", 30_000, AGES), Recall::LookUp));
    }

    #[test]
    fn a_lower_version_never_replaces_a_higher_one_but_counts_as_a_check() {
        let mut memory = memory();
        memory.admit("k", Rc::new("new"), 7, 10, 0);
        assert_eq!(*memory.admit("k", Rc::new("old"), 6, 10, 40_000), "new");
        assert_eq!(used(&memory.recall("k", 40_001, AGES)), "new");
        assert_eq!(*memory.admit("k", Rc::new("newer"), 8, 10, 40_002), "newer");
        assert_eq!(used(&memory.recall("k", 40_003, AGES)), "newer");
    }

    #[test]
    fn what_is_remembered_is_confirmed_without_being_read_again() {
        let mut memory = memory();
        assert_eq!(memory.confirm("k", 1, 0), None);
        memory.admit("k", Rc::new("a"), 7, 10, 0);
        assert!(matches!(memory.recall("k", 5_000, AGES), Recall::UseAndRefresh(_)));
        assert_eq!(memory.confirm("k", 8, 5_001), None, "a newer one is there");
        assert_eq!(memory.confirm("k", 7, 5_002).as_deref(), Some(&"a"));
        assert_eq!(memory.good("k", 10_001, AGES).as_deref(), Some(&"a"), "it counts as checked");
    }

    #[test]
    fn a_failed_look_up_leaves_the_old_one_however_old() {
        let mut memory = memory();
        assert!(memory.spare("k", 0, 5_000).is_none());
        memory.admit("k", Rc::new("a"), 1, 10, 0);
        let late = 86_400_000;
        assert!(matches!(memory.recall("k", late, AGES), Recall::LookUp));
        assert_eq!(memory.spare("k", late, 5_000).as_deref(), Some(&"a"));
        assert_eq!(used(&memory.recall("k", late + 4_999, AGES)), "a");
        assert!(matches!(memory.recall("k", late + 5_000, AGES), Recall::LookUp));
    }

    #[test]
    fn unknown_keys_are_remembered_for_a_while_and_bounded() {
        let mut memory = memory();
        memory.note_unknown("k", 0);
        assert!(matches!(memory.recall("k", 29_999, AGES), Recall::Unknown));
        assert!(matches!(memory.recall("k", 30_000, AGES), Recall::LookUp));
        memory.admit("k", Rc::new("a"), 1, 10, 1);
        assert_eq!(used(&memory.recall("k", 2, AGES)), "a");
        for number in 0..20_000 {
            memory.note_unknown(&format!("key-{number}"), 100);
        }
        assert!(memory.unknown.len() <= UNKNOWN_MOST && memory.unknown_order.len() <= UNKNOWN_MOST);
        assert!(matches!(memory.recall("key-19999", 101, AGES), Recall::Unknown));
        memory.note_unknown("later", 40_000);
        assert_eq!((memory.unknown.len(), memory.unknown_order.len()), (1, 1));
    }

    #[test]
    fn a_key_noted_twice_is_forgotten_by_its_later_note() {
        let mut memory = memory();
        memory.note_unknown("k", 0);
        memory.note_unknown("k", 20_000);
        memory.note_unknown("other", 35_000);
        assert!(matches!(memory.recall("k", 40_000, AGES), Recall::Unknown));
    }

    #[test]
    fn control_is_asked_twenty_times_a_second() {
        let mut memory = memory();
        let allowed = |memory: &mut Memory<_>, now| (0..100).filter(|_| memory.may_ask_control(now)).count();
        assert_eq!(allowed(&mut memory, 5_000), 20);
        assert_eq!(allowed(&mut memory, 5_999), 0);
        assert_eq!(allowed(&mut memory, 6_000), 20);
        assert_eq!(allowed(&mut memory, 100), 20, "a clock set back does not close it");
    }
}
