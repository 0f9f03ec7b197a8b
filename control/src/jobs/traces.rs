//! The job that records failures in the audit trail: the first one of a kind and account at once, and after a minute the count, if there were more.
//! It also sends the summaries of notices that were held back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shared::ids::AccountId;

use super::runner::{Job, Pause};
use crate::domain::access::anonymous::Anonymous;
use crate::domain::audit;
use crate::domain::context::Context;
use crate::domain::error::{Result, chain};
use crate::domain::mail;
use crate::domain::traces::backlog::Failures;
use crate::domain::traces::locked;
use crate::domain::traces::tally::{self, Kind};
use crate::domain::{accounts, warnings};

/// The maximum time between two rounds.
const TICK: Duration = Duration::from_secs(1);

/// The pause after a round that wrote; failures in the meantime are written together.
const PAUSE: Duration = Duration::from_millis(50);

/// How long failures of one kind and account are counted together, in milliseconds.
const WINDOW: i64 = 60_000;

/// Maximum number of tallies closed in one round.
const BATCH: i64 = 200;

/// The job.
#[derive(Debug)]
pub struct Traces(pub Arc<Context>);

impl Job for Traces {
    const NAME: &'static str = "traces";
    // Failures that a round has taken from memory are recorded nowhere else.
    const GRACE: Duration = Duration::MAX;
    // Failures wait in memory, where there is room for a few thousand.
    const MAX_PAUSE: Duration = Duration::from_secs(2);

    async fn round(&mut self) -> Result<Pause> {
        self.0.traces.sum_up(self.0.now());
        Ok(if round(&self.0).await? { Pause::For(PAUSE) } else { Pause::AtMost(TICK) })
    }

    async fn woken(&mut self) {
        self.0.traces.noted.notified().await;
    }

    async fn finish(self) {
        if let Err(error) = round(&self.0).await {
            tracing::warn!(cause = chain(&error), "failures could not be recorded");
        }
        self.0.traces.sum_up_all();
    }
}

/// Runs one round. Returns whether it wrote anything.
async fn round(app: &Context) -> Result<bool> {
    let due = tally::due(&mut app.db.read().await?, app.now(), BATCH).await?;
    let mut has_written = !due.is_empty();
    for (kind, account) in due {
        close(app, kind, &account).await?;
    }
    let (failures, warned) = locked(&app.traces.backlog).take();
    has_written |= !failures.is_empty() || !warned.is_empty();
    let mut outcome = Ok(());
    for failures in failures {
        match write(app, &failures).await {
            Ok(()) => locked(&app.traces.backlog).done(),
            Err(error) => {
                locked(&app.traces.backlog).give_back(failures);
                outcome = Err(error);
            }
        }
    }
    for warned in warned {
        match warnings::send(app, &warned).await {
            Ok(()) => locked(&app.traces.backlog).done(),
            Err(error) => {
                locked(&app.traces.backlog).give_warning_back(&warned);
                outcome = Err(error);
            }
        }
    }
    outcome.map(|()| has_written)
}

/// Counts failures, and adds a row to the audit trail if they are the first of their kind within a minute.
async fn write(app: &Context, failures: &Failures) -> Result<()> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let is_first =
        tally::add(&mut tx, Kind::Failure(failures.event), &failures.account, failures.count, now, now.plus_millis(WINDOW)).await?;
    if let Some(action) = failures.event.action().filter(|_| is_first) {
        let event = audit::Event::new(action, &failures.account).with(json!({ "outcome": failures.outcome }));
        audit::note(&mut tx, Anonymous::at(failures.from).actor(), event, &app.entropy, now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Closes a tally whose window has ended, and records its count.
async fn close(app: &Context, kind: Kind, account: &AccountId) -> Result<()> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let Some(tally) = tally::close(&mut tx, kind, account, now).await? else { return Ok(()) };
    match kind {
        // A single failure already has its row.
        Kind::Failure(event) => {
            if let Some(action) = event.action().filter(|_| tally.count > 1) {
                let event = audit::Event::new(action, account).with(json!({ "count": tally.count, "since": tally.since }));
                audit::note(&mut tx, Anonymous::many().actor(), event, &app.entropy, now).await?;
            }
        }
        Kind::Notice(notice) => {
            if let Some(row) = accounts::repo::find(&mut tx, account).await? {
                mail::notices::sum_up(&mut tx, app, notice, row.email, tally).await?;
            }
        }
    }
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
