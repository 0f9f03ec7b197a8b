//! How many lines the log gets of what fails: ten a minute for each network and event, and then one that sums up.

use std::collections::{HashMap, VecDeque};

use shared::time::UnixMillis;

use super::event::Event;

/// Lines of one network and event in a minute.
const MOST: u64 = 10;

/// A minute, in milliseconds.
const WINDOW: i64 = 60_000;

/// Networks and events that are counted by themselves. All others count together, so that a flood from everywhere fills neither the memory nor the log.
const MOST_KEYS: usize = 4_096;

/// The network of those others.
const OTHERS: &str = "others";

type Key = (Event, String);

/// What was written in this minute.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    windows: HashMap<Key, Window>,
    /// Windows by their beginning; all are equally long.
    order: VecDeque<(i64, Key)>,
}

#[derive(Debug)]
struct Window {
    began: i64,
    count: u64,
}

/// Lines that were not written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) event: Event,
    pub(crate) network: String,
    pub(crate) more: u64,
}

impl Lines {
    /// Counts one more, and gives the network to name when the line is to be written.
    pub(crate) fn admit(&mut self, event: Event, network: String, now: UnixMillis) -> Option<String> {
        let mut key = (event, network);
        if !self.windows.contains_key(&key) && self.windows.len() >= MOST_KEYS {
            OTHERS.clone_into(&mut key.1);
        }
        let window = self.windows.entry(key.clone()).or_insert_with(|| {
            self.order.push_back((now.0, key.clone()));
            Window { began: now.0, count: 0 }
        });
        window.count += 1;
        (window.count <= MOST).then_some(key.1)
    }

    /// Forgets minutes that are over, or that a clock set back has left in the future, and gives what they have left out.
    pub(crate) fn over(&mut self, now: UnixMillis) -> Vec<LeftOut> {
        self.forget(|began| !(0..WINDOW).contains(&now.0.saturating_sub(began)))
    }

    /// Forgets all.
    pub(crate) fn all(&mut self) -> Vec<LeftOut> {
        self.forget(|_| true)
    }

    fn forget(&mut self, is_over: impl Fn(i64) -> bool) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        while let Some((began, _)) = self.order.front()
            && is_over(*began)
            && let Some((began, key)) = self.order.pop_front()
            && let Some(window) = self.windows.remove(&key)
        {
            debug_assert_eq!(window.began, began, "a window is in the order once");
            let more = window.count.saturating_sub(MOST);
            if more > 0 {
                left_out.push(LeftOut { event: key.0, network: key.1, more });
            }
        }
        left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(event: Event, network: &str, more: u64) -> LeftOut {
        LeftOut { event, network: network.to_owned(), more }
    }

    #[test]
    fn ten_lines_a_minute_and_then_one_that_sums_up() {
        let mut lines = Lines::default();
        let mut admit = |event, network: &str, now| lines.admit(event, network.to_owned(), UnixMillis(now)).is_some();
        assert!((0..10).all(|_| admit(Event::Login, "a", 5)));
        assert!((0..90).all(|_| !admit(Event::Login, "a", 59_999)));
        // Others have their own.
        assert!(admit(Event::Bearer, "a", 6) && admit(Event::Login, "b", 7));
        assert_eq!(lines.over(UnixMillis(60_004)), []);
        assert_eq!(lines.over(UnixMillis(60_005)), [of(Event::Login, "a", 90)]);
        assert!(lines.admit(Event::Login, "a".to_owned(), UnixMillis(60_005)).is_some());
        assert_eq!(lines.all(), []);
        assert_eq!((lines.windows.len(), lines.order.len()), (0, 0));
    }

    #[test]
    fn a_flood_from_everywhere_is_counted_together() {
        let mut lines = Lines::default();
        let count = MOST_KEYS + 1_000;
        let written = (0..count).filter(|number| lines.admit(Event::Login, number.to_string(), UnixMillis(0)).is_some()).count();
        assert_eq!(written, MOST_KEYS + 10);
        assert_eq!(lines.windows.len(), MOST_KEYS + 1);
        assert_eq!(lines.over(UnixMillis(60_000)), [of(Event::Login, OTHERS, 990)]);
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_nothing_behind() {
        let mut lines = Lines::default();
        lines.admit(Event::Login, "a".to_owned(), UnixMillis(90_000));
        lines.over(UnixMillis(5));
        assert!(lines.windows.is_empty());
    }
}
