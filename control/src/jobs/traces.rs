//! The job that writes down what failed: the first failure of a kind and account at once, and a minute later how many there were, when there were more.
//! It also sends what sums up notices that were held back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shared::ids::AccountId;

use super::runner::{Job, Rest};
use crate::domain::audit::{self, Actor};
use crate::domain::context::Context;
use crate::domain::error::{Result, chain};
use crate::domain::mail;
use crate::domain::traces::backlog::Failures;
use crate::domain::traces::{Event, locked, tally};
use crate::domain::{accounts, warnings};

/// The longest wait for the next look.
const TICK: Duration = Duration::from_secs(1);

/// The wait after a round that wrote: what comes meanwhile is written together.
const PAUSE: Duration = Duration::from_millis(50);

/// How long failures of one kind of one account are counted together, in milliseconds.
const WINDOW: i64 = 60_000;

/// Tallies that are summed up in one round.
const BATCH: i64 = 200;

/// The job.
#[derive(Debug)]
pub struct Traces(pub Arc<Context>);

impl Job for Traces {
    const NAME: &'static str = "traces";
    // What a round has taken out of memory is written nowhere else.
    const GRACE: Duration = Duration::MAX;

    async fn round(&mut self) -> Result<Rest> {
        self.0.traces.sum_up(self.0.now());
        Ok(if round(&self.0).await? { Rest::For(PAUSE) } else { Rest::AtMost(TICK) })
    }

    async fn woken(&mut self) {
        self.0.traces.noted.notified().await;
    }

    async fn finish(self) {
        if let Err(error) = round(&self.0).await {
            tracing::warn!(cause = chain(&error), "what failed could not be written down");
        }
        self.0.traces.sum_up_all();
    }
}

/// One round; whether it wrote anything.
async fn round(app: &Context) -> Result<bool> {
    let due = tally::due(&mut app.db.read().await?, app.now(), BATCH).await?;
    let mut has_written = !due.is_empty();
    for (kind, account) in due {
        close(app, &kind, &account).await?;
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

/// Writes failures: a row of the audit trail when they are the first of their kind in a minute.
async fn write(app: &Context, failures: &Failures) -> Result<()> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let is_first = tally::add(&mut tx, failures.event.as_str(), &failures.account, failures.count, now, now.plus_millis(WINDOW)).await?;
    if let Some(action) = failures.event.action().filter(|_| is_first) {
        let event = audit::Event::new(action, &failures.account).with(json!({ "outcome": failures.outcome }));
        audit::note(&mut tx, &Actor::stranger(failures.from), event, &app.dice, now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Sums up what has been counted for long enough.
async fn close(app: &Context, kind: &str, account: &AccountId) -> Result<()> {
    let (mut tx, now) = (app.db.write().await?, app.now());
    let Some(tally) = tally::close(&mut tx, kind, account, now).await? else { return Ok(()) };
    match Event::of_tally(kind).and_then(Event::action) {
        // The first one is in the trail.
        Some(action) if tally.count > 1 => {
            let event = audit::Event::new(action, account).with(json!({ "count": tally.count, "since": tally.since }));
            audit::note(&mut tx, &Actor::many(), event, &app.dice, now).await?;
        }
        Some(_) => {}
        None => {
            if let Some(row) = accounts::repo::find(&mut tx, account).await? {
                mail::notices::sum_up(&mut tx, app, kind, row.email, tally).await?;
            }
        }
    }
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}
