//! Group commit for reports that clients send directly: many requests wait for one transaction, and each is answered after its commit.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use shared::report::Report;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::domain::counting::{Judgement, service};
use crate::domain::error::{Error, Result, chain};
use crate::domain::settings::Limits;
use crate::infra::clock::Clock;
use crate::infra::db::Db;

/// Reports that may wait. With more, the answer is 503: the client keeps its report and sends it again.
const QUEUE: usize = 4_096;

/// Reports in one transaction.
const GROUP: usize = 500;

/// How often old report ids are forgotten.
const PURGE_PERIOD: Duration = Duration::from_mins(1);

/// The handle of the task that counts direct reports. The task ends when the last handle is gone, after the reports that wait.
#[derive(Clone, Debug)]
pub struct Collector {
    queue: mpsc::Sender<Waiting>,
}

/// The cause is shared by every report of the failed transaction.
type Answer = Result<Judgement, Arc<str>>;

struct Waiting {
    report: Report,
    answer: oneshot::Sender<Answer>,
}

impl Collector {
    /// Starts the task; needs a tokio runtime around it.
    pub fn start(db: Db, clock: Clock, limits: &Limits) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(run(Counter { db, clock, most_binary_versions: limits.binary_versions }, waiting));
        Self { queue }
    }

    /// Gives the report to the next transaction and waits until that is committed. On an error, which is
    /// [`Unavailable`](Error::Unavailable), the report is not stored.
    pub async fn submit(&self, report: Report) -> Result<Judgement> {
        let (answer, judgement) = oneshot::channel();
        self.queue.try_send(Waiting { report, answer }).map_err(|error| {
            Error::unavailable(match error {
                mpsc::error::TrySendError::Full(_) => "too many reports are waiting",
                mpsc::error::TrySendError::Closed(_) => "reports are no longer counted here",
            })
        })?;
        match judgement.await {
            Ok(Ok(judgement)) => Ok(judgement),
            Ok(Err(cause)) => Err(Error::unavailable(cause.as_ref())),
            // A task that ended or panicked has dropped what waited.
            Err(_) => Err(Error::unavailable("counting was given up")),
        }
    }
}

#[derive(Clone)]
struct Counter {
    db: Db,
    clock: Clock,
    most_binary_versions: u32,
}

/// While one transaction is under way the next group gathers in the queue, so a group is as large as the load asks for and no report waits for others.
async fn run(counter: Counter, mut waiting: mpsc::Receiver<Waiting>) {
    let mut purges = interval(PURGE_PERIOD);
    purges.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once; a start has better things to do.
    purges.tick().await;
    let mut group = Vec::with_capacity(GROUP);
    loop {
        tokio::select! {
            biased;
            // First, or reports that never pause would keep it from its turn; it is one small step.
            _ = purges.tick() => counter.purge(&mut purges).await,
            taken = waiting.recv_many(&mut group, GROUP) => {
                if taken == 0 {
                    return;
                }
                counter.count(std::mem::take(&mut group)).await;
            }
        }
    }
}

impl Counter {
    async fn count(&self, group: Vec<Waiting>) {
        let (reports, answers): (Vec<_>, Vec<_>) = group.into_iter().map(|waiting| (waiting.report, waiting.answer)).unzip();
        let own = self.clone();
        // A task of its own, so that a panic costs this group its answers and not every later report its counting.
        let outcome = tokio::spawn(async move { service::outcomes(&own.db, own.most_binary_versions, &reports, own.clock.now()).await });
        let outcomes = match outcome.await {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(error)) => return refuse(answers, chain(&error)),
            Err(_) => return refuse(answers, "counting panicked".to_owned()),
        };
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // A client that has gone needs no answer; its report is counted.
            drop(answer.send(outcome.map(Judgement::from).map_err(|error| chain(&error).into())));
        }
    }

    async fn purge(&self, purges: &mut Interval) {
        // A panic, too, must not end the task: no report would be counted any more.
        match AssertUnwindSafe(self.purge_step()).catch_unwind().await {
            // There may be more: the next step comes at once, but after the reports that wait.
            Ok(Ok(forgotten)) if forgotten == service::PURGE_STEP => purges.reset_immediately(),
            Ok(Ok(_)) => {}
            Err(_) => tracing::error!(job = "reports", "forgetting old report ids panicked; tried again in a minute"),
            Ok(Err(error)) => tracing::warn!(cause = %chain(&error), "old report ids could not be forgotten; tried again in a minute"),
        }
    }

    async fn purge_step(&self) -> sqlx::Result<u64> {
        let mut tx = self.db.write().await?;
        let forgotten = service::purge(&mut tx, self.clock.now()).await?;
        tx.commit().await?;
        Ok(forgotten)
    }
}

/// Not all of them are stored; each request logs the cause with its own answer.
fn refuse(answers: Vec<oneshot::Sender<Answer>>, cause: String) {
    let cause: Arc<str> = cause.into();
    for answer in answers {
        drop(answer.send(Err(Arc::clone(&cause))));
    }
}
