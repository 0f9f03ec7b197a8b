//! What was done so far, which Ctrl-C leaves behind: of all platforms that are set up, not only of the last one.

use std::cell::RefCell;

use super::plan::Change;
use crate::output::interrupt::{self, Step};

/// What to do after Ctrl-C.
const AGAIN: &str = "Run the command again.";

/// The steps of one run. They end when it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    step: Step,
    done: RefCell<Done>,
}

#[derive(Debug, Default)]
struct Done {
    /// What exists on the server now, such as `the app demo`.
    created: Vec<String>,
    /// The files that were written, each once.
    written: Vec<String>,
    /// The files that are being written.
    begun: Vec<String>,
}

impl Progress {
    /// Nothing was done yet.
    pub(super) fn new() -> Self {
        Self { step: interrupt::step(Done::default().text(), AGAIN), done: RefCell::default() }
    }

    /// Something was created on the server, such as `the app demo`.
    pub(super) fn created(&self, what: String) {
        self.note(|done| done.created.push(what));
    }

    /// These changes are about to be made.
    pub(super) fn begin(&self, changes: &[Change]) {
        self.note(|done| done.begun = changes.iter().map(|change| change.path.clone()).collect());
    }

    /// The changes that have begun are made.
    pub(super) fn wrote(&self) {
        self.note(|done| {
            for path in std::mem::take(&mut done.begun) {
                if !done.written.contains(&path) {
                    done.written.push(path);
                }
            }
        });
    }

    fn note(&self, change: impl FnOnce(&mut Done)) {
        let text = {
            let mut done = self.done.borrow_mut();
            change(&mut done);
            done.text()
        };
        self.step.now(text, AGAIN);
    }
}

impl Done {
    /// What completes "interrupted: …".
    fn text(&self) -> String {
        let is_are = |things: &[String]| if things.len() == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        if !self.created.is_empty() {
            parts.push(format!("{} {} created", list(&self.created), is_are(&self.created)));
        }
        if !self.written.is_empty() {
            parts.push(format!("{} {} written", list(&self.written), is_are(&self.written)));
        }
        if !self.begun.is_empty() {
            parts.push(format!("{} may be changed", list(&self.begun)));
        }
        match (parts.is_empty(), self.written.is_empty() && self.begun.is_empty()) {
            (true, _) => "nothing was changed".to_owned(),
            (false, true) => format!("{}, and no file was changed", parts.join("; ")),
            (false, false) => format!("{}, and no other file was changed", parts.join("; ")),
        }
    }
}

/// Names as a list in a sentence.
fn list(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_listed() {
        let mut done = Done::default();
        assert_eq!(done.text(), "nothing was changed");
        done.created.push("the app demo-ios".to_owned());
        assert_eq!(done.text(), "the app demo-ios is created, and no file was changed");
        done.begun.push("updraft.toml".to_owned());
        assert_eq!(done.text(), "the app demo-ios is created; updraft.toml may be changed, and no other file was changed");
        done.created.push("the deployment Canary of demo-ios".to_owned());
        (done.written, done.begun) = (["a", "b", "c"].map(str::to_owned).to_vec(), Vec::new());
        assert_eq!(
            done.text(),
            "the app demo-ios and the deployment Canary of demo-ios are created; a, b and c are written, and no other file was changed"
        );
    }
}
