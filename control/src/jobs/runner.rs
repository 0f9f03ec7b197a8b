//! The runner of all jobs: rounds with pauses in between, with back-off after failures, until the server stops.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use shared::time::UnixMillis;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::domain::error::{Result, chain};
use crate::infra::clock::{Clock, Entropy};

/// The pause after a first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A background job that runs as long as the server. After a panic it is recreated, and loses what it kept in memory.
pub trait Job: Send + 'static {
    /// Its name, in the log and in [`Runner::statuses`].
    const NAME: &'static str;

    /// How long a running round may take once the server stops. By default it is aborted where it waits.
    const GRACE: Duration = Duration::ZERO;

    /// The maximum pause after a failure.
    const MAX_PAUSE: Duration = Duration::from_mins(1);

    /// Runs one round. The runner logs failures, and pauses longer after each further one.
    fn round(&mut self) -> impl Future<Output = Result<Pause>> + Send;

    /// Completes when a pause should end early.
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// Runs once, after all jobs have stopped and no request is in flight.
    fn finish(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        ready(())
    }
}

/// How long a job pauses between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// For this long in any case.
    For(Duration),
    /// For this long, or until it is woken.
    AtMost(Duration),
    /// For this long in any case: nothing was due. Such a round is neither a success nor a failure.
    Idle(Duration),
}

/// The status of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStatus {
    /// When a round last succeeded.
    pub last_success: Option<UnixMillis>,
    /// Rounds that have failed or panicked since.
    pub failures: u32,
}

/// All started jobs.
#[derive(Debug)]
pub struct Runner {
    supervisor: Supervisor,
    tasks: JoinSet<BoxFuture<'static, ()>>,
}

impl Runner {
    /// Creates a runner without jobs. All jobs stop when `stopped` turns true.
    pub fn new(clock: Clock, entropy: Entropy, stopped: watch::Receiver<bool>) -> Self {
        Self { supervisor: Supervisor { clock, entropy, stopped, statuses: Arc::default(), failures: 0 }, tasks: JoinSet::new() }
    }

    /// Starts a job. `new` creates it, and recreates it after a panic.
    pub fn start<J: Job>(&mut self, new: impl Fn() -> J + Send + Sync + 'static) {
        self.tasks.spawn(self.supervisor.clone().supervise(new));
    }

    /// The status of each job.
    pub fn statuses(&self) -> BTreeMap<&'static str, JobStatus> {
        self.supervisor.statuses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until all jobs have stopped, then runs each job's [`Job::finish`]. Call it when no request is in flight.
    pub async fn finish(mut self) {
        let mut finishes = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            finishes.extend(ended);
        }
        for finish in finishes {
            finish.await;
        }
    }
}

/// Runs one job.
#[derive(Clone, Debug)]
struct Supervisor {
    clock: Clock,
    entropy: Entropy,
    stopped: watch::Receiver<bool>,
    statuses: Arc<Mutex<BTreeMap<&'static str, JobStatus>>>,
    failures: u32,
}

impl Supervisor {
    /// Runs the job until the server stops, and returns its [`Job::finish`]. A job that panics is recreated: it may succeed next time, and nobody else
    /// would do its work. This is safe, because it shares only the database, and locks whose poisoning is ignored.
    async fn supervise<J: Job>(mut self, new: impl Fn() -> J + Send + 'static) -> BoxFuture<'static, ()> {
        loop {
            let job = AssertUnwindSafe(async { new() }).catch_unwind().await;
            if let Ok(mut job) = job
                && AssertUnwindSafe(self.rounds(&mut job)).catch_unwind().await.is_ok()
            {
                return job.finish().boxed();
            }
            let pause = self.failed::<J>();
            tracing::error!(job = J::NAME, seconds = pause.as_secs_f32(), "a job panicked; restarting it after a pause");
            if timeout(pause, self.stopped.wait_for(|stop| *stop)).await.is_ok() {
                // Shared state may still need to be finished.
                return AssertUnwindSafe(async move { new().finish().await }).catch_unwind().map(drop).boxed();
            }
        }
    }

    async fn rounds<J: Job>(&mut self, job: &mut J) {
        loop {
            let mut stopped = self.stopped.clone();
            let overdue = async {
                // An error means that the sender is gone, which also means stop.
                let _ = stopped.wait_for(|stop| *stop).await;
                sleep(J::GRACE).await;
            };
            let round = tokio::select! {
                biased;
                round = job.round() => round,
                () = overdue => return,
            };
            let pause = match round {
                Ok(pause @ Pause::Idle(_)) => pause,
                Ok(pause) => {
                    self.failures = 0;
                    self.update_status::<J>(|status| *status = JobStatus { last_success: Some(self.clock.now()), failures: 0 });
                    pause
                }
                Err(error) => {
                    let pause = self.failed::<J>();
                    tracing::warn!(job = J::NAME, failures = self.failures, cause = chain(&error), "a job failed; retrying after a pause");
                    Pause::For(pause)
                }
            };
            let paused = async {
                match pause {
                    Pause::For(duration) | Pause::Idle(duration) => sleep(duration).await,
                    Pause::AtMost(duration) => drop(timeout(duration, job.woken()).await),
                }
            };
            tokio::select! {
                biased;
                _ = self.stopped.wait_for(|stop| *stop) => return,
                () = paused => {}
            }
        }
    }

    /// Records a failure and returns the pause, with jitter, so that jobs that failed for the same reason do not retry together.
    fn failed<J: Job>(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.update_status::<J>(|status| status.failures = status.failures.saturating_add(1));
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(6)).min(J::MAX_PAUSE);
        let [jitter] = self.entropy.bytes::<1>().unwrap_or_default();
        pause.mul_f32(0.75 + f32::from(jitter) / 512.0)
    }

    fn update_status<J: Job>(&self, change: impl FnOnce(&mut JobStatus)) {
        change(self.statuses.lock().unwrap_or_else(PoisonError::into_inner).entry(J::NAME).or_default());
    }
}
