//! The output of a program under test, so that a test can wait for a line and a failed test can show all of it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::wait::patience;

/// The lines so far; clones share them.
#[derive(Clone, Debug)]
pub struct Output {
    lines: Arc<Mutex<Vec<String>>>,
    count: watch::Sender<usize>,
}

impl Default for Output {
    fn default() -> Self {
        Self { lines: Arc::default(), count: watch::Sender::new(0) }
    }
}

impl Output {
    /// Adds a line, from any thread.
    pub fn push(&self, line: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(line.to_owned());
        self.count.send_replace(lines.len());
    }

    /// Every line so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every event with this name logged so far, oldest first: lines that contain a JSON object, with or without a prefix of the logger.
    pub fn events(&self, name: &str) -> Vec<Value> {
        self.lines().iter().filter_map(|line| event(line)).filter(|event| event["event"] == name).collect()
    }

    /// Waits until the events with this name satisfy `is_enough`, which is called with all of them after each new line.
    pub async fn until(&self, name: &str, is_enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut count = self.count.subscribe();
        let waiting = async {
            loop {
                count.borrow_and_update();
                let events = self.events(name);
                if is_enough(&events) {
                    return events;
                }
                count.changed().await.expect("the output owns the sender");
            }
        };
        let patience = patience();
        let Ok(events) = timeout(patience, waiting).await else {
            panic!("not enough events {name:?} within {patience:?}; so far {:?}", self.events(name))
        };
        events
    }

    /// Prints everything, for failed tests.
    pub fn show(&self, program: &str) {
        for line in self.lines().iter().filter(|line| !line.trim().is_empty()) {
            eprintln!("{program}: {line}");
        }
    }
}

fn event(line: &str) -> Option<Value> {
    let (start, end) = (line.find('{')?, line.rfind('}')?);
    serde_json::from_str(line.get(start..=end)?).ok()
}
