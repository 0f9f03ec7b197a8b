//! Jobs that run beside the requests for as long as the server does.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The first wait before a job that panicked runs again; it doubles with each panic.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest wait. A job that ran for longer than this begins with the first wait again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Runs a job until it ends. A panic is logged, and the job runs again after a while: what it does next time may not panic, and nobody else would do it.
pub async fn keep<F: Future<Output = ()>>(name: &'static str, mut stopped: watch::Receiver<bool>, job: impl Fn() -> F) {
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        // The job's own state is gone with it; what it shares with others are locks that are not poisoned for long, and the database.
        if AssertUnwindSafe(job()).catch_unwind().await.is_ok() {
            return;
        }
        if began.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tracing::error!(job = name, seconds = pause.as_secs(), "a job panicked; it runs again after a pause");
        if timeout(pause, stopped.wait_for(|stop| *stop)).await.is_ok() {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_job_that_panics_runs_again() {
        let (_stop, stopped) = watch::channel(false);
        let runs = AtomicUsize::new(0);
        keep("test", stopped, || async {
            assert!(runs.fetch_add(1, Ordering::SeqCst) >= 3, "planted");
        })
        .await;
        assert_eq!(runs.load(Ordering::SeqCst), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_does_not_wait_for_the_next_run() {
        let (stop, stopped) = watch::channel(false);
        let runs = AtomicUsize::new(0);
        keep("test", stopped, || async {
            runs.fetch_add(1, Ordering::SeqCst);
            stop.send_replace(true);
            panic!("planted");
        })
        .await;
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
