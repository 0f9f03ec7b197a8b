//! The one runner of jobs: rounds with rests in between, longer ones after failures, until the server stops.

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
use crate::infra::clock::{Clock, Dice};

/// The rest after a first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// What runs beside the requests for as long as the server does. What it keeps in memory is gone when it panics: it is made anew then.
pub trait Job: Send + 'static {
    /// Its name, in the log and among the facts.
    const NAME: &'static str;

    /// How long a round under way may take once the server stops. By default it is cut off where it waits.
    const GRACE: Duration = Duration::ZERO;

    /// The longest rest after a failure.
    const LONGEST_PAUSE: Duration = Duration::from_mins(1);

    /// One round. The runner logs what fails, and rests for longer after each further failure.
    fn round(&mut self) -> impl Future<Output = Result<Rest>> + Send;

    /// Waits for what ends a rest early.
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// What is left to do once all jobs have stopped and no request is under way.
    fn finish(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        ready(())
    }
}

/// How long a job rests between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// For so long in any case.
    For(Duration),
    /// For so long, or until it is woken.
    AtMost(Duration),
}

/// What is known of a job's rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// When a round last succeeded.
    pub last_success: Option<UnixMillis>,
    /// Rounds that failed or panicked since.
    pub failures: u32,
}

/// Every job that was started.
#[derive(Debug)]
pub struct Runner {
    under: Under,
    tasks: JoinSet<BoxFuture<'static, ()>>,
}

impl Runner {
    /// No job yet. All of them end when `stopped` turns true.
    pub fn new(clock: Clock, dice: Dice, stopped: watch::Receiver<bool>) -> Self {
        Self { under: Under { clock, dice, stopped, facts: Arc::default(), failures: 0 }, tasks: JoinSet::new() }
    }

    /// Starts a job, which `new` makes, and makes again after a panic.
    pub fn start<J: Job>(&mut self, new: impl Fn() -> J + Send + Sync + 'static) {
        self.tasks.spawn(self.under.clone().keep(new));
    }

    /// What is known of each job.
    pub fn facts(&self) -> BTreeMap<&'static str, Facts> {
        self.under.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until all jobs have stopped, and lets each finish. Call it when no request is under way.
    pub async fn finish(mut self) {
        let mut rest = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            rest.extend(ended);
        }
        for finish in rest {
            finish.await;
        }
    }
}

/// One job under the runner.
#[derive(Clone, Debug)]
struct Under {
    clock: Clock,
    dice: Dice,
    stopped: watch::Receiver<bool>,
    facts: Arc<Mutex<BTreeMap<&'static str, Facts>>>,
    failures: u32,
}

impl Under {
    /// Runs the job until the server stops, and gives what it has left to do then. Whatever panics may not do so the next time, and nobody else would do
    /// the job; what it shares with others are locks that are not poisoned for long, and the database.
    async fn keep<J: Job>(mut self, new: impl Fn() -> J + Send + 'static) -> BoxFuture<'static, ()> {
        loop {
            let job = AssertUnwindSafe(async { new() }).catch_unwind().await;
            if let Ok(mut job) = job
                && AssertUnwindSafe(self.rounds(&mut job)).catch_unwind().await.is_ok()
            {
                return job.finish().boxed();
            }
            let pause = self.failed::<J>();
            tracing::error!(job = J::NAME, seconds = pause.as_secs_f32(), "a job panicked; it runs again after a pause");
            if timeout(pause, self.stopped.wait_for(|stop| *stop)).await.is_ok() {
                // What it shares with others may still be to be finished.
                return AssertUnwindSafe(async move { new().finish().await }).catch_unwind().map(drop).boxed();
            }
        }
    }

    async fn rounds<J: Job>(&mut self, job: &mut J) {
        loop {
            let mut stopped = self.stopped.clone();
            let overdue = async {
                // An error means that whoever could stop this in order is gone.
                let _ = stopped.wait_for(|stop| *stop).await;
                sleep(J::GRACE).await;
            };
            let round = tokio::select! {
                biased;
                round = job.round() => round,
                () = overdue => return,
            };
            let rest = match round {
                Ok(rest) => {
                    self.failures = 0;
                    self.note::<J>(|facts| *facts = Facts { last_success: Some(self.clock.now()), failures: 0 });
                    rest
                }
                Err(error) => {
                    let pause = self.failed::<J>();
                    tracing::warn!(
                        job = J::NAME,
                        failures = self.failures,
                        cause = chain(&error),
                        "a job failed; it is tried again after a pause"
                    );
                    Rest::For(pause)
                }
            };
            let rested = async {
                match rest {
                    Rest::For(pause) => sleep(pause).await,
                    Rest::AtMost(pause) => drop(timeout(pause, job.woken()).await),
                }
            };
            tokio::select! {
                biased;
                _ = self.stopped.wait_for(|stop| *stop) => return,
                () = rested => {}
            }
        }
    }

    /// Notes a failure, and gives how long to rest: a little more or less than the others that failed for the same reason.
    fn failed<J: Job>(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.note::<J>(|facts| facts.failures = facts.failures.saturating_add(1));
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(6)).min(J::LONGEST_PAUSE);
        let [chance] = self.dice.bytes::<1>().unwrap_or_default();
        pause.mul_f32(0.75 + f32::from(chance) / 512.0)
    }

    fn note<J: Job>(&self, change: impl FnOnce(&mut Facts)) {
        change(self.facts.lock().unwrap_or_else(PoisonError::into_inner).entry(J::NAME).or_default());
    }
}
