//! Rate-limits log lines about failures: ten a minute for each network and event, then one summary line.

use std::collections::{HashMap, VecDeque};

use shared::time::UnixMillis;

use super::event::Event;

/// Lines per minute for one network and event.
const MAX_LINES: u64 = 10;

/// A minute, in milliseconds.
const WINDOW: i64 = 60_000;

/// Network and event pairs with a count of their own. All others share one, so that a distributed flood fills neither memory nor log.
const MAX_KEYS: usize = 4_096;

/// The network name for those others.
const OTHERS: &str = "others";

type Key = (Event, String);

/// The lines written in the current minute.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    windows: HashMap<Key, Window>,
    /// Windows by start time; all have the same length.
    order: VecDeque<(i64, Key)>,
}

#[derive(Debug)]
struct Window {
    began: i64,
    count: u64,
}

/// Lines that were suppressed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suppressed {
    pub(crate) event: Event,
    pub(crate) network: String,
    pub(crate) more: u64,
}

impl Lines {
    /// Counts one more line. Returns the network to log, or `None` to suppress the line.
    pub(crate) fn count(&mut self, event: Event, network: String, now: UnixMillis) -> Option<String> {
        let mut key = (event, network);
        if !self.windows.contains_key(&key) && self.windows.len() >= MAX_KEYS {
            OTHERS.clone_into(&mut key.1);
        }
        let window = self.windows.entry(key.clone()).or_insert_with(|| {
            self.order.push_back((now.0, key.clone()));
            Window { began: now.0, count: 0 }
        });
        window.count += 1;
        (window.count <= MAX_LINES).then_some(key.1)
    }

    /// Removes windows that have ended, or that are in the future because the clock was set back. Returns what they suppressed.
    pub(crate) fn take_ended(&mut self, now: UnixMillis) -> Vec<Suppressed> {
        self.forget(|began| !(0..WINDOW).contains(&now.0.saturating_sub(began)))
    }

    /// Removes all windows, and returns what they suppressed.
    pub(crate) fn take_all(&mut self) -> Vec<Suppressed> {
        self.forget(|_| true)
    }

    fn forget(&mut self, has_ended: impl Fn(i64) -> bool) -> Vec<Suppressed> {
        let mut suppressed = Vec::new();
        while let Some((began, _)) = self.order.front()
            && has_ended(*began)
            && let Some((began, key)) = self.order.pop_front()
            && let Some(window) = self.windows.remove(&key)
        {
            debug_assert_eq!(window.began, began, "each window is in the order once");
            let more = window.count.saturating_sub(MAX_LINES);
            if more > 0 {
                suppressed.push(Suppressed { event: key.0, network: key.1, more });
            }
        }
        suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(event: Event, network: &str, more: u64) -> Suppressed {
        Suppressed { event, network: network.to_owned(), more }
    }

    #[test]
    fn ten_lines_a_minute_and_then_a_summary() {
        let mut lines = Lines::default();
        let mut count = |event, network: &str, now| lines.count(event, network.to_owned(), UnixMillis(now)).is_some();
        assert!((0..10).all(|_| count(Event::Login, "a", 5)));
        assert!((0..90).all(|_| !count(Event::Login, "a", 59_999)));
        // Other events and networks have their own windows.
        assert!(count(Event::Bearer, "a", 6) && count(Event::Login, "b", 7));
        assert_eq!(lines.take_ended(UnixMillis(60_004)), []);
        assert_eq!(lines.take_ended(UnixMillis(60_005)), [of(Event::Login, "a", 90)]);
        assert!(lines.count(Event::Login, "a".to_owned(), UnixMillis(60_005)).is_some());
        assert_eq!(lines.take_all(), []);
        assert_eq!((lines.windows.len(), lines.order.len()), (0, 0));
    }

    #[test]
    fn a_distributed_flood_shares_one_count() {
        let mut lines = Lines::default();
        let count = MAX_KEYS + 1_000;
        let written = (0..count).filter(|number| lines.count(Event::Login, number.to_string(), UnixMillis(0)).is_some()).count();
        assert_eq!(written, MAX_KEYS + 10);
        assert_eq!(lines.windows.len(), MAX_KEYS + 1);
        assert_eq!(lines.take_ended(UnixMillis(60_000)), [of(Event::Login, OTHERS, 990)]);
    }

    #[test]
    fn setting_the_clock_back_leaves_nothing_behind() {
        let mut lines = Lines::default();
        lines.count(Event::Login, "a".to_owned(), UnixMillis(90_000));
        lines.take_ended(UnixMillis(5));
        assert!(lines.windows.is_empty());
    }
}
