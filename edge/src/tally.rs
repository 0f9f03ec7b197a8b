//! What this isolate did not trust, counted until control is told.
//!
//! Pure code, like `memory`. Control is told at most once every 15 s, and the same call is repeated until control has answered it: it counts each call
//! once. An isolate may be evicted before that; its events are in the log.

use std::cell::RefCell;

use serde_json::json;
use shared::time::UnixMillis;
use shared::wire::edge::{Distrusted, EdgeCounters};

use crate::log;

/// The time between two calls, in milliseconds.
const SPACING: i64 = 15_000;

/// Something that control has not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A snapshot that control has not signed for its key.
    Distrusted,
    /// A snapshot that was signed more than 36 hours ago.
    Old,
    /// A snapshot with a lower version than control has.
    Replayed,
    /// A bundle whose bytes do not have the hash that names it.
    AlteredBundle,
}

/// The counts.
#[derive(Debug, Default)]
pub struct Tally {
    /// Names this isolate; empty until the first call.
    isolate: String,
    counts: Distrusted,
    /// The call that control has not answered yet.
    unanswered: Option<EdgeCounters>,
    sequence: i64,
    /// When the last call began, in milliseconds.
    called: Option<i64>,
}

impl Tally {
    /// Counts an event.
    pub fn count(&mut self, event: Event) {
        let count = match event {
            Event::Distrusted => &mut self.counts.distrusted,
            Event::Old => &mut self.counts.old,
            Event::Replayed => &mut self.counts.replayed,
            Event::AlteredBundle => &mut self.counts.altered_bundles,
        };
        *count = count.saturating_add(1);
    }

    /// Whether control should be told now.
    pub fn is_due(&self, now: i64) -> bool {
        let is_spaced = self.called.is_none_or(|called| !(0..SPACING).contains(&(now - called)));
        is_spaced && (self.unanswered.is_some() || !self.counts.is_nothing())
    }

    /// The call to make, if one is due. `name` gives a name to the isolate, once.
    pub fn begin(&mut self, now: i64, name: impl FnOnce() -> Option<String>) -> Option<EdgeCounters> {
        if !self.is_due(now) {
            return None;
        }
        if self.isolate.is_empty() {
            self.isolate = name()?;
        }
        self.called = Some(now);
        if self.unanswered.is_none() {
            self.sequence += 1;
            let counts = std::mem::take(&mut self.counts);
            self.unanswered = Some(EdgeCounters { isolate: self.isolate.clone(), sequence: self.sequence, counts });
        }
        self.unanswered.clone()
    }

    /// Control has answered the call with this number.
    pub fn end(&mut self, sequence: i64) {
        self.unanswered.take_if(|call| call.sequence == sequence);
    }
}

thread_local! {
    static TALLY: RefCell<Tally> = RefCell::default();
}

/// Counts an event of this isolate, and logs it.
pub(crate) fn note(event: Event, name: &str, fields: serde_json::Value) {
    TALLY.with_borrow_mut(|tally| tally.count(event));
    log::event(name, fields);
}

/// Whether control should be told now.
pub(crate) fn is_due(now: UnixMillis) -> bool {
    TALLY.with_borrow(|tally| tally.is_due(now.as_millis()))
}

/// Runs `work` on this isolate's tally.
pub(crate) fn with<T>(work: impl FnOnce(&mut Tally) -> T) -> T {
    TALLY.with_borrow_mut(work)
}

/// The log fields of a snapshot that is not trusted.
pub(crate) fn distrusted(from: &str, why: &str) {
    note(Event::Distrusted, "snapshot.distrusted", json!({"from": from, "why": why}));
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: fn() -> Option<String> = || Some("isolate".to_owned());

    #[test]
    fn nothing_is_told_when_nothing_happened() {
        let mut tally = Tally::default();
        assert!(!tally.is_due(0));
        assert_eq!(tally.begin(0, NAME), None);
    }

    #[test]
    fn control_is_told_at_most_every_fifteen_seconds() {
        let mut tally = Tally::default();
        tally.count(Event::Distrusted);
        let first = tally.begin(1_000, NAME).unwrap();
        assert_eq!((first.sequence, first.counts.distrusted), (1, 1));
        tally.end(1);
        tally.count(Event::Replayed);
        tally.count(Event::Replayed);
        assert_eq!(tally.begin(15_999, NAME), None);
        let second = tally.begin(16_000, || panic!("it has a name")).unwrap();
        assert_eq!((second.sequence, second.counts), (2, Distrusted { replayed: 2, ..Distrusted::default() }));
        assert_eq!(second.isolate, "isolate");
    }

    #[test]
    fn a_call_without_an_answer_is_repeated_unchanged() {
        let mut tally = Tally::default();
        tally.count(Event::Old);
        let first = tally.begin(0, NAME).unwrap();
        tally.count(Event::AlteredBundle);
        assert_eq!(tally.begin(15_000, NAME), Some(first));
        tally.end(1);
        let second = tally.begin(30_000, NAME).unwrap();
        assert_eq!((second.sequence, second.counts), (2, Distrusted { altered_bundles: 1, ..Distrusted::default() }));
        tally.end(1);
        assert_eq!(tally.begin(45_000, NAME), Some(second), "a late answer to an earlier call");
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_delay_the_next_call() {
        let mut tally = Tally::default();
        tally.count(Event::Old);
        assert!(tally.begin(1_000_000, NAME).is_some());
        assert!(tally.is_due(5));
    }
}
