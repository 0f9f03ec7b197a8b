//! Jobs in the runner: after panics and failures, and at shutdown.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use control::testing::jobs::{Job, JobStatus, Pause, Runner};
use tests::{Clock, Entropy, Error, Result};
use tokio::sync::watch;
use tokio::time::sleep;

/// Counts its rounds, plus a hundred when it finishes.
struct Counted(Arc<AtomicUsize>, fn(usize) -> Result<Pause>);

impl Job for Counted {
    const NAME: &'static str = "test";

    async fn round(&mut self) -> Result<Pause> {
        (self.1)(self.0.fetch_add(1, Ordering::SeqCst))
    }

    async fn finish(self) {
        self.0.fetch_add(100, Ordering::SeqCst);
    }
}

/// Runs a job for an hour. Returns its number of rounds, plus a hundred if it finished, and its recorded state.
async fn an_hour(round: fn(usize) -> Result<Pause>) -> (usize, JobStatus) {
    let (stop, stopped) = watch::channel(false);
    let mut runner = Runner::new(Clock::System, Entropy::System, stopped);
    let rounds = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&rounds);
    runner.start(move || Counted(Arc::clone(&counter), round));
    sleep(Duration::from_hours(1)).await;
    let status = runner.statuses().remove("test").unwrap();
    stop.send_replace(true);
    runner.finish().await;
    (rounds.load(Ordering::SeqCst), status)
}

#[tokio::test(start_paused = true)]
async fn a_panicking_job_is_restarted() {
    let (rounds, status) = an_hour(|round| {
        assert!(round >= 3, "planted");
        Ok(Pause::AtMost(Duration::from_hours(2)))
    })
    .await;
    assert_eq!((rounds, status.failures, status.last_success.is_some()), (104, 0, true));
}

#[tokio::test(start_paused = true)]
async fn a_failing_job_backs_off_for_up_to_a_minute() {
    let (rounds, status) = an_hour(|_| Err(Error::internal("planted"))).await;
    // Sixty long back-offs in an hour, with up to a quarter of jitter, and six short ones before.
    assert!((148..186).contains(&rounds), "{rounds}");
    assert_eq!((status.last_success, usize::try_from(status.failures).unwrap()), (None, rounds - 100));
}

#[tokio::test(start_paused = true)]
async fn idle_rounds_do_not_hide_a_failure() {
    let idle = |round| if round == 0 { Err(Error::internal("planted")) } else { Ok(Pause::Idle(Duration::from_mins(1))) };
    let (rounds, status) = an_hour(idle).await;
    assert!(rounds > 150, "{rounds}");
    assert_eq!((status.last_success, status.failures), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn stopping_cancels_the_running_round() {
    struct Endless;
    impl Job for Endless {
        const NAME: &'static str = "endless";
        async fn round(&mut self) -> Result<Pause> {
            pending().await
        }
    }
    let (stop, stopped) = watch::channel(false);
    let mut runner = Runner::new(Clock::System, Entropy::System, stopped);
    runner.start(|| Endless);
    stop.send_replace(true);
    runner.finish().await;
}
