//! Work that takes a while of a core, such as hashing and making diffs: on a thread of its own, with a lower priority, so that it does not delay requests.

use std::io::{self, Read, Seek, SeekFrom};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How much work gives way to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A little: even on a busy machine it gets a share. For work that a person waits for.
    Low,
    /// Almost entirely: for work that nobody waits for.
    Lowest,
}

/// Runs `work` on a new thread with a lower priority; the thread's name is for debuggers. What is returned receives its result, or fails if it panicked. If
/// that is dropped, the work goes on to its end. Errors: if the system has no thread left.
pub fn spawn<T: Send + 'static>(
    name: &str,
    priority: Priority,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (answer, answered) = oneshot::channel();
    let run = move || {
        lower(priority);
        // The caller may be gone.
        drop(answer.send(work()));
    };
    // Not a thread of the runtime's pool: no other work may inherit the priority. Creating one takes some microseconds.
    thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(answered)
}

/// After so much work, a [`Throttled`] reader sleeps.
const SLICE: Duration = Duration::from_micros(200);
/// How much longer it sleeps than it has worked.
const SLEEP: u32 = 3;
/// The longest such sleep.
const MAX_SLEEP: Duration = Duration::from_millis(20);

/// A reader for work of the lowest priority. Its thread sleeps again and again before it reads on: one that works without a break keeps its core to the end of a
/// time slice of some milliseconds, also from a request that has something to do.
#[derive(Debug)]
pub struct Throttled<R> {
    inner: R,
    woken: Instant,
}

impl<R> Throttled<R> {
    /// Reads from `inner`.
    #[expect(clippy::disallowed_methods, reason = "measures a core's work; no clock decides anything")]
    pub fn new(inner: R) -> Self {
        Self { inner, woken: Instant::now() }
    }
}

impl<R: Read> Read for Throttled<R> {
    #[expect(clippy::disallowed_methods, reason = "leaves the core to others; there is no event to wait for")]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let worked = self.woken.elapsed();
        if worked >= SLICE {
            thread::sleep((worked * SLEEP).min(MAX_SLEEP));
            self.woken = Instant::now();
        }
        self.inner.read(buffer)
    }
}

impl<R: Seek> Seek for Throttled<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

/// Lowers this thread's priority, so that requests do not wait for its time slice.
fn lower(priority: Priority) {
    // On Linux, niceness is per thread; elsewhere it is per process. If it fails, requests wait a little longer.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(match priority {
        Priority::Low => 5,
        Priority::Lowest => 19,
    }) {
        tracing::debug!(%error, "the thread's priority could not be lowered");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = priority;
}
