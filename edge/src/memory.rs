//! The isolate's cache: snapshots, unknown keys, and the number of lookups at control.
//!
//! Pure code: time is an argument, and there are no JavaScript values. `store` owns the one instance. The runtime may evict an isolate at any time,
//! so this must never hold state. Start with [`Memory::get`].

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use shared::lru::Lru;
use shared::snapshot::Revision;
use shared::wire::edge::MAX_VERSIONS;

/// The TTL of unknown keys.
const UNKNOWN_MS: i64 = 30_000;
/// The maximum number of unknown keys: random keys must not fill the memory.
const MAX_UNKNOWN: usize = 4_096;
/// The maximum number of keys whose version is to be confirmed.
const MAX_UNCONFIRMED: usize = 4_096;
/// After this time, a background refresh counts as canceled, and another request may start one.
const LEASE_MS: i64 = 10_000;
/// After control could not say versions, it is left alone for so long.
const PAUSE_MS: i64 = 5_000;
/// Control is asked again for the version of a key in use after this time: somebody may be keeping newer ones back.
const CONFIRM_AGAIN_MS: i64 = 5 * 60_000;
/// The rate limit for lookups at control, per second.
const LOOK_UPS_PER_SECOND: usize = 20;

/// The ages at which a cached snapshot is refreshed in the background, and at which requests wait for the refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// Below this age, in milliseconds, a snapshot is used as is.
    pub fresh: i64,
    /// From this age on, in milliseconds, a request waits for a newer one.
    pub stale: i64,
}

/// The result of a cache lookup.
#[derive(Debug)]
pub enum CacheResult<S> {
    /// Answer with this.
    Hit(Rc<S>),
    /// Answer with this, and refresh it in the background: the caller now has the lease.
    HitAndRefresh(Rc<S>),
    /// Look it up in KV or control, and wait.
    Miss,
    /// The key did not exist less than 30 s ago.
    Unknown,
}

/// What the cache keeps besides a snapshot.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its revision.
    pub revision: Revision,
    /// Its bytes in memory.
    pub weight: usize,
    /// The first line of its signed value; `None` if it was not signed.
    pub line: Option<Box<[u8]>>,
    /// Whether control itself has given it. KV may have an earlier one.
    pub is_from_control: bool,
}

struct Entry<S> {
    snapshot: Rc<S>,
    revision: Revision,
    /// The first line of the signed value that it was read from.
    line: Option<Box<[u8]>>,
    /// When KV or control last confirmed it, in ms.
    checked: i64,
    /// When control itself did, in ms.
    confirmed: i64,
    /// The end of the refresh lease, in ms.
    leased_until: i64,
    /// Until this time, in ms, it is used regardless of age, because the last lookup failed.
    kept_until: i64,
}

/// The freshness of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freshness {
    /// Use it.
    Fresh,
    /// Use it and refresh it.
    Aged,
    /// Look it up again before use.
    Stale,
}

impl<S> Entry<S> {
    fn freshness(&self, now: i64, ages: Ages) -> Freshness {
        let age = now - self.checked;
        if age < ages.fresh || now < self.kept_until {
            Freshness::Fresh
        } else if age >= ages.stale {
            Freshness::Stale
        } else if now < self.leased_until {
            Freshness::Fresh
        } else {
            Freshness::Aged
        }
    }
}

/// Snapshots by key (LRU), unknown keys, and the lookup limit.
pub struct Memory<S> {
    entries: Lru<String, Entry<S>>,
    unknown: HashMap<String, i64>,
    unknown_order: VecDeque<(i64, String)>,
    look_ups: VecDeque<i64>,
    /// Keys whose snapshot came from KV when the cache knew no version of them, or long after control was asked, so that it may be an earlier one.
    unconfirmed: BTreeSet<String>,
    /// Those whose version is known to be higher at control, and that could not be fetched yet.
    behind: BTreeSet<String>,
    /// The last key that control was asked for: each gets its turn.
    asked: String,
    /// The end of the lease on reading versions from control, in ms.
    asking_until: i64,
}

impl<S> Memory<S> {
    /// Creates an empty cache of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            entries: Lru::new(max_bytes),
            unknown: HashMap::new(),
            unknown_order: VecDeque::new(),
            look_ups: VecDeque::new(),
            unconfirmed: BTreeSet::new(),
            behind: BTreeSet::new(),
            asked: String::new(),
            asking_until: 0,
        }
    }

    /// Looks up `key` in the cache.
    pub fn get(&mut self, key: &str, now: i64, ages: Ages) -> CacheResult<S> {
        let Some(entry) = self.entries.get(key) else {
            return if self.unknown.get(key).is_some_and(|until| now < *until) { CacheResult::Unknown } else { CacheResult::Miss };
        };
        match entry.freshness(now, ages) {
            Freshness::Fresh => CacheResult::Hit(Rc::clone(&entry.snapshot)),
            Freshness::Aged => {
                entry.leased_until = now + LEASE_MS;
                CacheResult::HitAndRefresh(Rc::clone(&entry.snapshot))
            }
            Freshness::Stale => CacheResult::Miss,
        }
    }

    /// The snapshot, if [`Memory::get`] would return [`CacheResult::Hit`].
    pub fn get_fresh(&mut self, key: &str, now: i64, ages: Ages) -> Option<Rc<S>> {
        let freshness = self.entries.peek(key)?.freshness(now, ages);
        match (freshness == Freshness::Fresh).then(|| self.get(key, now, ages))? {
            CacheResult::Hit(snapshot) => Some(snapshot),
            CacheResult::HitAndRefresh(_) | CacheResult::Miss | CacheResult::Unknown => None,
        }
    }

    /// The cached snapshot, if the value that a lookup found has the same first line. The found one need be neither verified nor parsed: of many
    /// concurrent lookups, only the first has to.
    pub fn same(&mut self, key: &str, line: &[u8]) -> Option<Rc<S>> {
        let entry = self.entries.peek(key).filter(|entry| entry.line.as_deref() == Some(line))?;
        Some(Rc::clone(&entry.snapshot))
    }

    /// The cached snapshot, if it is at least as new as the one that a lookup found. It then counts as just checked.
    pub fn confirm(&mut self, key: &str, found: Revision, now: i64) -> Option<Rc<S>> {
        let entry = self.entries.peek(key).filter(|entry| entry.revision >= found)?;
        entry.checked = entry.checked.max(now);
        entry.leased_until = 0;
        entry.kept_until = 0;
        // Also if the clock was set back.
        if now.abs_diff(entry.confirmed) >= CONFIRM_AGAIN_MS.unsigned_abs() && self.unconfirmed.len() < MAX_UNCONFIRMED {
            self.unconfirmed.insert(key.to_owned());
        }
        Some(Rc::clone(&entry.snapshot))
    }

    /// Caches the result of a lookup, and returns the snapshot to answer with: the cached one if it is newer. `line` is the first line of its signed
    /// value.
    ///
    /// A lower version never replaces a higher one: KV is eventually consistent, and a device must not flip between versions. The kept one is at least
    /// as new as the found one, so it counts as checked.
    pub fn insert(&mut self, key: &str, found: Rc<S>, place: Place, now: i64) -> Rc<S> {
        let Place { revision, weight, line, is_from_control } = place;
        if is_from_control {
            self.unconfirmed.remove(key);
            self.behind.remove(key);
            if let Some(entry) = self.entries.peek(key) {
                entry.confirmed = now;
            }
        }
        if let Some(known) = self.confirm(key, revision, now) {
            return known;
        }
        self.unknown.remove(key);
        if !is_from_control && self.entries.peek(key).is_none() && self.unconfirmed.len() < MAX_UNCONFIRMED {
            self.unconfirmed.insert(key.to_owned());
        }
        let confirmed = match self.entries.peek(key) {
            Some(entry) => entry.confirmed,
            None if is_from_control => now,
            // Never. It is asked for now, or as soon as there is room for it.
            None => 0,
        };
        let weight = weight + line.as_ref().map_or(0, |line| line.len());
        let entry = Entry { snapshot: Rc::clone(&found), revision, line, checked: now, confirmed, leased_until: 0, kept_until: 0 };
        self.entries.insert(key.to_owned(), entry, weight);
        found
    }

    /// Whether control should be asked for versions.
    pub fn has_unconfirmed(&self, now: i64) -> bool {
        !self.unconfirmed.is_empty() && !(1..=LEASE_MS).contains(&(self.asking_until - now))
    }

    /// The keys whose versions are to be read from control, none if a call is under way. The caller has the lease until [`Memory::confirm_versions`].
    pub fn take_unconfirmed(&mut self, now: i64) -> Vec<String> {
        if !self.has_unconfirmed(now) {
            return Vec::new();
        }
        self.asking_until = now + LEASE_MS;
        let later = self.unconfirmed.iter().filter(|key| **key > self.asked);
        let keys: Vec<String> =
            later.chain(self.unconfirmed.iter().filter(|key| **key <= self.asked)).take(MAX_VERSIONS).cloned().collect();
        self.asked = keys.last().cloned().unwrap_or_default();
        keys
    }

    /// Leaves control alone for a while, because it could not give a newer snapshot.
    pub fn pause(&mut self, now: i64) {
        self.asking_until = now + PAUSE_MS;
    }

    /// Records control's answer for these keys, and returns those whose version there is higher, with whether that is new. They stay unconfirmed until it has
    /// been fetched. Without an answer, none is confirmed, and control is left alone for a while.
    pub fn confirm_versions(&mut self, keys: Vec<String>, controls: Option<impl Fn(&str) -> Option<i64>>, now: i64) -> Vec<(String, bool)> {
        let Some(controls) = controls else {
            self.pause(now);
            return Vec::new();
        };
        self.asking_until = 0;
        let mut behind = Vec::new();
        for key in keys {
            let entry = self.entries.peek(key.as_str());
            let is_behind = entry.as_ref().is_some_and(|entry| controls(&key).is_some_and(|version| version > entry.revision.version));
            if is_behind {
                let is_new = self.behind.insert(key.clone());
                behind.push((key, is_new));
                continue;
            }
            if let Some(entry) = entry {
                entry.confirmed = now;
            }
            self.unconfirmed.remove(&key);
            self.behind.remove(&key);
        }
        behind
    }

    /// Records that neither KV nor control was reachable, and returns the cached snapshot regardless of age. It is used without another lookup for
    /// `pause` ms, so that not every request waits for timeouts during an outage.
    pub fn keep_stale(&mut self, key: &str, now: i64, pause: i64) -> Option<Rc<S>> {
        let entry = self.entries.peek(key)?;
        entry.leased_until = 0;
        entry.kept_until = now + pause;
        Some(Rc::clone(&entry.snapshot))
    }

    /// Records that the key does not exist.
    pub fn note_unknown(&mut self, key: &str, now: i64) {
        self.entries.remove(key);
        while let Some((until, _)) = self.unknown_order.front()
            && (*until <= now || self.unknown_order.len() >= MAX_UNKNOWN)
            && let Some((until, oldest)) = self.unknown_order.pop_front()
        {
            // If the key was recorded again since, it has a later entry.
            if self.unknown.get(&oldest) == Some(&until) {
                self.unknown.remove(&oldest);
            }
        }
        let until = now + UNKNOWN_MS;
        self.unknown.insert(key.to_owned(), until);
        self.unknown_order.push_back((until, key.to_owned()));
    }

    /// Whether another lookup at control is within the limit; if so, counts it.
    pub fn may_fetch_from_control(&mut self, now: i64) -> bool {
        // Also drops entries in the future: otherwise, setting the clock back would block lookups for that long.
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
    use shared::time::UnixMillis;

    use super::*;

    const AGES: Ages = Ages { fresh: 5_000, stale: 30_000 };

    fn memory() -> Memory<&'static str> {
        Memory::new(32 << 20)
    }

    fn place(version: i64) -> Place {
        signed(version, 1)
    }

    fn signed(version: i64, signed: i64) -> Place {
        let line = format!("{version} {signed}").into_bytes().into();
        Place { revision: Revision { version, signed: Some(UnixMillis(signed)) }, weight: 10, line: Some(line), is_from_control: false }
    }

    fn used(result: &CacheResult<&'static str>) -> &'static str {
        match result {
            CacheResult::Hit(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn age_decides_between_use_refresh_and_lookup() {
        let mut memory = memory();
        assert!(matches!(memory.get("k", 0, AGES), CacheResult::Miss));
        assert_eq!(memory.get_fresh("k", 0, AGES), None);
        memory.insert("k", Rc::new("a"), place(1), 0);
        assert_eq!(used(&memory.get("k", 4_999, AGES)), "a");
        assert_eq!(memory.get_fresh("k", 4_999, AGES).as_deref(), Some(&"a"));
        assert_eq!(memory.get_fresh("k", 5_000, AGES), None, "and it takes no lease");
        assert!(matches!(memory.get("k", 5_000, AGES), CacheResult::HitAndRefresh(_)));
        assert_eq!(memory.get_fresh("k", 5_000, AGES).as_deref(), Some(&"a"));
        assert_eq!(memory.get_fresh("k", 30_000, AGES), None);
        assert_eq!(used(&memory.get("k", 5_001, AGES)), "a");
        assert!(matches!(memory.get("k", 15_000, AGES), CacheResult::HitAndRefresh(_)), "the lease expires by time");
        assert!(matches!(memory.get("k", 30_000, AGES), CacheResult::Miss));
    }

    #[test]
    fn a_lower_version_never_replaces_a_higher_one_but_counts_as_a_check() {
        let mut memory = memory();
        memory.insert("k", Rc::new("new"), place(7), 0);
        assert_eq!(*memory.insert("k", Rc::new("old"), place(6), 40_000), "new");
        assert_eq!(used(&memory.get("k", 40_001, AGES)), "new");
        assert_eq!(*memory.insert("k", Rc::new("newer"), place(8), 40_002), "newer");
        assert_eq!(used(&memory.get("k", 40_003, AGES)), "newer");
    }

    #[test]
    fn a_cached_snapshot_is_confirmed_without_parsing() {
        let mut memory = memory();
        assert_eq!(memory.confirm("k", place(1).revision, 0), None);
        memory.insert("k", Rc::new("a"), place(7), 0);
        assert!(matches!(memory.get("k", 5_000, AGES), CacheResult::HitAndRefresh(_)));
        assert_eq!(memory.confirm("k", place(8).revision, 5_001), None, "a newer one exists");
        assert_eq!(memory.confirm("k", place(7).revision, 5_002).as_deref(), Some(&"a"));
        assert_eq!(memory.get_fresh("k", 10_001, AGES).as_deref(), Some(&"a"), "it counts as a check");
    }

    #[test]
    fn of_one_version_the_one_signed_later_wins() {
        let mut memory = memory();
        memory.insert("k", Rc::new("first"), signed(7, 100), 0);
        assert_eq!(memory.same("k", b"7 100").as_deref(), Some(&"first"));
        assert_eq!(memory.same("k", b"7 200"), None);
        assert_eq!(memory.same("other", b"7 100"), None);
        assert_eq!(*memory.insert("k", Rc::new("again"), signed(7, 200), 1), "again");
        assert_eq!(memory.same("k", b"7 100"), None);
        assert_eq!(*memory.insert("k", Rc::new("replayed"), signed(7, 100), 2), "again");
        let unsigned = Place { revision: Revision { version: 7, signed: None }, line: None, ..signed(7, 0) };
        assert_eq!(*memory.insert("k", Rc::new("unsigned"), unsigned, 3), "again");
    }

    #[test]
    fn the_first_version_of_a_key_is_confirmed_unless_control_has_given_it() {
        let mut memory = memory();
        assert!(!memory.has_unconfirmed(0));
        memory.insert("a", Rc::new("a"), Place { is_from_control: true, ..place(1) }, 0);
        assert!(!memory.has_unconfirmed(0));
        memory.insert("b", Rc::new("b"), place(1), 0);
        memory.insert("c", Rc::new("c"), place(1), 0);
        memory.insert("d", Rc::new("d"), place(1), 0);
        let asked = memory.take_unconfirmed(100);
        assert_eq!(asked, ["b", "c", "d"]);
        assert!(memory.take_unconfirmed(101).is_empty(), "one call is under way");
        let behind = memory.confirm_versions(
            asked,
            Some(|key: &str| [("b", 1), ("c", 2)].into_iter().find_map(|(known, version)| (known == key).then_some(version))),
            101,
        );
        assert_eq!(behind, [("c".to_owned(), true)], "control does not know d, and has no other version of b");
        assert_eq!(memory.take_unconfirmed(102), ["c"], "until it has been fetched");
        assert_eq!(memory.confirm_versions(vec!["c".to_owned()], Some(|_: &str| Some(2)), 102), [("c".to_owned(), false)], "told once");
        assert_eq!(memory.take_unconfirmed(103), ["c"]);
        memory.confirm_versions(vec!["c".to_owned()], None::<fn(&str) -> Option<i64>>, 103);
        assert!(memory.take_unconfirmed(5_102).is_empty(), "control is left alone");
        assert_eq!(memory.take_unconfirmed(5_103), ["c"], "without an answer nothing is confirmed");
        memory.insert("c", Rc::new("c2"), Place { is_from_control: true, ..place(2) }, 104);
        assert!(!memory.has_unconfirmed(100_000));
        memory.insert("b", Rc::new("b2"), place(2), 105);
        assert!(!memory.has_unconfirmed(100_000), "a key whose version is known needs no confirmation");
    }

    #[test]
    fn a_key_in_use_is_confirmed_again_after_a_while() {
        let mut memory = memory();
        memory.insert("k", Rc::new("a"), Place { is_from_control: true, ..place(1) }, 0);
        memory.confirm("k", place(1).revision, CONFIRM_AGAIN_MS - 1);
        assert!(!memory.has_unconfirmed(CONFIRM_AGAIN_MS - 1));
        memory.confirm("k", place(1).revision, CONFIRM_AGAIN_MS);
        assert_eq!(memory.take_unconfirmed(CONFIRM_AGAIN_MS), ["k"], "KV may be keeping a newer one back");
        assert!(memory.confirm_versions(vec!["k".to_owned()], Some(|_: &str| Some(1)), CONFIRM_AGAIN_MS).is_empty());
        memory.confirm("k", place(1).revision, CONFIRM_AGAIN_MS + 1);
        assert!(!memory.has_unconfirmed(CONFIRM_AGAIN_MS + 1));
        // A newer one from KV says nothing of what control has.
        memory.insert("k", Rc::new("b"), place(2), CONFIRM_AGAIN_MS + 2);
        memory.confirm("k", place(2).revision, 2 * CONFIRM_AGAIN_MS);
        assert!(memory.has_unconfirmed(2 * CONFIRM_AGAIN_MS));
    }

    #[test]
    fn keys_that_cannot_be_fetched_do_not_keep_others_from_their_turn() {
        let mut memory = memory();
        for number in 0..30 {
            memory.insert(&format!("key-{number:02}"), Rc::new("s"), place(1), 0);
        }
        let first = memory.take_unconfirmed(0);
        assert_eq!(memory.confirm_versions(first.clone(), Some(|_: &str| Some(2)), 0).len(), 20);
        memory.pause(0);
        assert!(memory.take_unconfirmed(PAUSE_MS - 1).is_empty());
        let second = memory.take_unconfirmed(PAUSE_MS);
        assert_eq!(second[..10], (20..30).map(|number| format!("key-{number:02}")).collect::<Vec<_>>());
        assert_eq!(second[10..], first[..10]);
    }

    #[test]
    fn at_most_twenty_keys_are_asked_for_at_once_and_a_lost_call_is_repeated() {
        let mut memory = memory();
        for number in 0..5_000 {
            memory.insert(&format!("key-{number:04}"), Rc::new("s"), place(1), 0);
        }
        assert_eq!(memory.unconfirmed.len(), MAX_UNCONFIRMED);
        assert_eq!(memory.take_unconfirmed(0).len(), 20);
        assert!(memory.take_unconfirmed(9_999).is_empty());
        assert_eq!(memory.take_unconfirmed(10_001).len(), 20);
    }

    #[test]
    fn after_a_failed_lookup_the_old_snapshot_is_used_regardless_of_age() {
        let mut memory = memory();
        assert!(memory.keep_stale("k", 0, 5_000).is_none());
        memory.insert("k", Rc::new("a"), place(1), 0);
        let late = 86_400_000;
        assert!(matches!(memory.get("k", late, AGES), CacheResult::Miss));
        assert_eq!(memory.keep_stale("k", late, 5_000).as_deref(), Some(&"a"));
        assert_eq!(used(&memory.get("k", late + 4_999, AGES)), "a");
        assert!(matches!(memory.get("k", late + 5_000, AGES), CacheResult::Miss));
    }

    #[test]
    fn unknown_keys_are_cached_with_a_ttl_and_a_bound() {
        let mut memory = memory();
        memory.note_unknown("k", 0);
        assert!(matches!(memory.get("k", 29_999, AGES), CacheResult::Unknown));
        assert!(matches!(memory.get("k", 30_000, AGES), CacheResult::Miss));
        memory.insert("k", Rc::new("a"), place(1), 1);
        assert_eq!(used(&memory.get("k", 2, AGES)), "a");
        for number in 0..20_000 {
            memory.note_unknown(&format!("key-{number}"), 100);
        }
        assert!(memory.unknown.len() <= MAX_UNKNOWN && memory.unknown_order.len() <= MAX_UNKNOWN);
        assert!(matches!(memory.get("key-19999", 101, AGES), CacheResult::Unknown));
        memory.note_unknown("later", 40_000);
        assert_eq!((memory.unknown.len(), memory.unknown_order.len()), (1, 1));
    }

    #[test]
    fn a_key_recorded_twice_expires_by_its_later_record() {
        let mut memory = memory();
        memory.note_unknown("k", 0);
        memory.note_unknown("k", 20_000);
        memory.note_unknown("other", 35_000);
        assert!(matches!(memory.get("k", 40_000, AGES), CacheResult::Unknown));
    }

    #[test]
    fn lookups_at_control_are_limited_to_twenty_a_second() {
        let mut memory = memory();
        let allowed = |memory: &mut Memory<_>, now| (0..100).filter(|_| memory.may_fetch_from_control(now)).count();
        assert_eq!(allowed(&mut memory, 5_000), 20);
        assert_eq!(allowed(&mut memory, 5_999), 0);
        assert_eq!(allowed(&mut memory, 6_000), 20);
        assert_eq!(allowed(&mut memory, 100), 20, "setting the clock back does not block lookups");
    }
}
