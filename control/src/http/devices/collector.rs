//! Group commit for reports that devices send directly: many requests share one transaction, and each is answered after the commit.

use std::sync::Arc;

use shared::report::Report;
use tokio::sync::{mpsc, oneshot};

use crate::domain::counting::{ReportStatus, service};
use crate::domain::error::{Error, Result, chain};
use crate::domain::settings::Limits;
use crate::infra::clock::Clock;
use crate::infra::db::Db;

/// Maximum number of queued reports. Above it, the response is 503: the device keeps its report and sends it again.
const QUEUE: usize = 4_096;

/// Reports in one transaction.
const GROUP: usize = 500;

/// A handle to the task that counts direct reports. The task ends when the last handle is dropped and the queue is empty.
#[derive(Clone, Debug)]
pub struct Collector {
    queue: mpsc::Sender<Waiting>,
}

/// The result of one report. All reports of a failed transaction share the cause.
type Answer = Result<ReportStatus, Arc<str>>;

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

    /// Adds the report to the next transaction and waits for the commit. Every error is [`Unavailable`](Error::Unavailable) and means that
    /// the report is not stored.
    pub async fn submit(&self, report: Report) -> Result<ReportStatus> {
        let (answer, statuses) = oneshot::channel();
        self.queue.try_send(Waiting { report, answer }).map_err(|error| {
            Error::unavailable(match error {
                mpsc::error::TrySendError::Full(_) => "too many reports are queued",
                mpsc::error::TrySendError::Closed(_) => "the report collector has stopped",
            })
        })?;
        match statuses.await {
            Ok(Ok(statuses)) => Ok(statuses),
            Ok(Err(cause)) => Err(Error::unavailable(cause.as_ref())),
            // The task ended or panicked, and dropped its queue.
            Err(_) => Err(Error::unavailable("the report collector stopped before the report was counted")),
        }
    }
}

#[derive(Clone)]
struct Counter {
    db: Db,
    clock: Clock,
    most_binary_versions: u32,
}

/// While one transaction runs, the next group gathers in the queue. So the group size follows the load, and no report waits for a group to fill.
async fn run(counter: Counter, mut waiting: mpsc::Receiver<Waiting>) {
    let mut group = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut group, GROUP).await > 0 {
        counter.count(std::mem::take(&mut group)).await;
    }
}

impl Counter {
    async fn count(&self, group: Vec<Waiting>) {
        let (reports, answers): (Vec<_>, Vec<_>) = group.into_iter().map(|waiting| (waiting.report, waiting.answer)).unzip();
        let own = self.clone();
        // A separate task, so that a panic fails only this group and not all later reports.
        let outcome = tokio::spawn(async move { service::outcomes(&own.db, own.most_binary_versions, &reports, own.clock.now()).await });
        let outcomes = match outcome.await {
            Ok(Ok(outcomes)) => outcomes,
            Ok(Err(error)) => return refuse(answers, chain(&error)),
            Err(_) => return refuse(answers, "counting panicked".to_owned()),
        };
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // A disconnected client needs no answer; its report is counted.
            drop(answer.send(outcome.map(ReportStatus::from).map_err(|error| chain(&error).into())));
        }
    }
}

/// Fails all reports of a group. Each request logs the cause with its own response.
fn refuse(answers: Vec<oneshot::Sender<Answer>>, cause: String) {
    let cause: Arc<str> = cause.into();
    for answer in answers {
        drop(answer.send(Err(Arc::clone(&cause))));
    }
}
