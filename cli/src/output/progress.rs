//! Progress on a terminal: bytes with speed and time left, or a spinner. Elsewhere, and with `--quiet` or `--output json`, nothing is drawn.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;
use crate::output::terminal;

/// The progress that is drawn now, if any. At most one is at a time.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Prints with the progress out of the way.
pub(crate) fn suspended(print: impl FnOnce()) {
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match drawn {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Ends the progress where it is, as when the program is interrupted. It stays on the terminal: the terminal has written `^C` after it, and may have moved
/// to the next line for that.
pub(crate) fn abandon() {
    if let Some(bar) = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.abandon();
    }
}

/// Progress that disappears when it is dropped, whatever happens.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Progress through `total` bytes.
    pub(crate) fn bytes(context: &Context, message: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), target(context));
        let template = "{msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message.to_owned());
        Self::drawn(bar)
    }

    /// A spinner, for what has no known length.
    pub(crate) fn spinner(context: &Context, message: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(context));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self::drawn(bar)
    }

    fn drawn(bar: ProgressBar) -> Self {
        *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self(bar)
    }

    /// Starts again from zero, as when an upload is repeated.
    pub(crate) fn restart(&self) {
        self.0.reset();
    }

    /// A handle for another task.
    pub(crate) fn handle(&self) -> ProgressBar {
        self.0.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.finish_and_clear();
    }
}

fn target(context: &Context) -> ProgressDrawTarget {
    if terminal::is_error() && !context.is_quiet() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}
