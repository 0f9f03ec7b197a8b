//! What Ctrl-C leaves behind: a command's steps say what is done by then, and how to go on.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Kind};

/// What to say now.
static NOW: Mutex<Now> = Mutex::new(Now { step: None, so_far: None });
/// Whether it is said. Ctrl-C at a question comes both as a signal and as a key.
static IS_SAID: AtomicBool = AtomicBool::new(false);

/// What Ctrl-C leaves behind, and how to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Completes "interrupted: …".
    pub(crate) what: String,
    /// What to do next; empty if there is nothing to do.
    pub(crate) next: String,
}

impl Message {
    /// A message.
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
    }
}

/// What to say now.
struct Now {
    /// Within a step.
    step: Option<Message>,
    /// Outside of steps. Nothing for commands that have changed nothing.
    so_far: Option<Message>,
}

/// Temporary folders. The exit drops nothing, so they are removed before it.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes a temporary folder when the program is interrupted.
pub(crate) fn remove_then(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
}

/// A step of a command. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Step {
    /// A step within another one has nothing to say: the outer one knows more.
    is_inner: bool,
}

/// Begins a step. `what` completes "interrupted: …".
pub(crate) fn step(what: impl Into<String>, next: impl Into<String>) -> Step {
    let mut now = NOW.lock().unwrap_or_else(PoisonError::into_inner);
    let is_inner = now.step.is_some();
    if !is_inner {
        now.step = Some(Message::new(what, next));
    }
    Step { is_inner }
}

/// Says this outside of steps from now on.
pub(crate) fn so_far(message: Message) {
    NOW.lock().unwrap_or_else(PoisonError::into_inner).so_far = Some(message);
}

impl Step {
    /// Says something else from now on.
    pub(crate) fn now(&self, what: impl Into<String>, next: impl Into<String>) {
        if !self.is_inner {
            NOW.lock().unwrap_or_else(PoisonError::into_inner).step = Some(Message::new(what, next));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.is_inner {
            NOW.lock().unwrap_or_else(PoisonError::into_inner).step = None;
        }
    }
}

/// Held by the thread that ends the program, until the exit.
static ENDING: Mutex<()> = Mutex::new(());

/// Lets no other thread end the program from now on. Waits for the exit if another one ends it: a command that an interruption disturbs, as by removing its
/// temporary folders, must not report a failure of its own, with another exit code.
pub(crate) fn end_here() {
    mem::forget(ENDING.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Says what Ctrl-C left behind, once. Another thread that would say it waits until it is said.
pub(crate) fn report() {
    let now = NOW.lock().unwrap_or_else(PoisonError::into_inner);
    if IS_SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // What does not exist anymore is no failure.
        let _ = fs::remove_dir_all(folder);
    }
    super::terminal::restore();
    super::terminal::silence_others();
    if let Some(Message { what, next }) = now.step.as_ref().or(now.so_far.as_ref()) {
        Error::new(Kind::Interrupted, format!("interrupted: {what}"), next).print();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thread_ends_the_program() {
        assert!(ENDING.try_lock().is_ok());
        std::thread::spawn(end_here).join().unwrap();
        assert!(ENDING.try_lock().is_err(), "the thread has ended, and others still wait");
    }
}
