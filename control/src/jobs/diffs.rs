//! The job that makes diffs. It takes apps from the outbox, one at a time; a release, a promotion, a rollback or a change of one puts its app there. So does every half
//! hour in which devices of an app have reported: as they move, other packages need a diff.
//!
//! A lease is renewed while its work goes on. If its process dies, another one goes on half a minute later, with the diffs that are missing. Accounts take turns:
//! one with many apps does not keep the others waiting.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use shared::time::UnixMillis;
use tokio::time::{MissedTickBehavior, interval};

use super::queue::Queue;
use super::runner::{Job, Pause};
use crate::domain::context::Context;
use crate::domain::diffs::repo;
use crate::domain::diffs::throttle::Throttle;
use crate::domain::diffs::trial::Claim;
use crate::domain::diffs::turn::{self, Suspended};
use crate::domain::error::{Error, Result, chain};
use crate::domain::outbox::{self, Lease};

/// The lease of an app, in milliseconds.
const LEASE: i64 = 30_000;
/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(5);
/// The maximum time between two polls of the outbox.
const TICK: Duration = Duration::from_secs(1);
/// How often the job looks where devices have moved, in milliseconds.
const FOLLOW: i64 = 30 * 60 * 1_000;
/// How much later than its minute begins a report may be stored, in milliseconds: it may wait at the edge for ten minutes.
const LATE: i64 = 11 * 60 * 1_000;
/// How far back it looks at first, in milliseconds: as far as minutes are kept.
const FIRST_LOOK: i64 = 48 * 60 * 60 * 1_000;
/// The longest wait after failures of an app, in milliseconds.
const MAX_DELAY: i64 = 10 * 60 * 1_000;

/// The longest rest of an account after a turn, in milliseconds: a clock that was set must not stop it.
const MAX_REST: i64 = 60 * 60 * 1_000;
/// Accounts that take turns at a time: those that wait longest.
const ACCOUNTS: i64 = 500;
/// How long a suspended look is worth going on with, in milliseconds. By then another process may have ended it.
const MAX_SUSPENDED: i64 = 10 * 60 * 1_000;

/// The last turn of an account.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// When it ended.
    ended: UnixMillis,
    /// Until then, others go first: for as long as the turn took.
    rests_until: UnixMillis,
}

/// The job.
#[derive(Debug)]
pub struct Diffs {
    context: Arc<Context>,
    queue: Queue,
    /// When it last looked where devices have moved.
    followed: Option<UnixMillis>,
    /// The last turns of accounts.
    turns: HashMap<String, Last>,
    /// What is being worked on, or was until its failure could not be recorded.
    claim: Option<Claim>,
    /// Where turns were suspended, and when, by the key of the app's row.
    suspended: HashMap<String, (UnixMillis, Suspended)>,
    throttle: Throttle,
}

impl Diffs {
    /// Creates the job.
    pub fn new(context: Arc<Context>, queue: Queue) -> Self {
        Self {
            context,
            queue,
            followed: None,
            turns: HashMap::new(),
            claim: None,
            suspended: HashMap::new(),
            throttle: Throttle::default(),
        }
    }

    /// Looks where devices have moved, if it is time.
    async fn follow(&mut self) -> Result<()> {
        let now = self.context.now();
        let since = match self.followed {
            // A clock that was set back must not stop it.
            Some(last) if now.as_millis().abs_diff(last.as_millis()) < FOLLOW.unsigned_abs() => return Ok(()),
            Some(last) => last.min(now).plus_millis(-LATE),
            None => now.plus_millis(-FIRST_LOOK),
        };
        let mut after = String::new();
        while let Some(last) = turn::follow(&self.context, since, &after).await? {
            after = last;
        }
        self.followed = Some(now);
        Ok(())
    }

    /// Leases the next app, and returns its account: of the accounts that do not rest, if there are any, the one that waits longest since its last turn; of its
    /// apps, the one that waits longest. So nobody goes before one that waits, however often they come.
    async fn claim(&mut self) -> Result<Option<(Lease, String)>> {
        let now = self.context.now();
        let mut waiting = repo::waiting(&mut self.context.db.read().await?, now, ACCOUNTS).await?;
        self.turns.retain(|account, last| last.rests_until > now || waiting.iter().any(|next| next.account == *account));
        waiting.sort_by_key(|next| match self.turns.get(&next.account) {
            // A clock that was set back must not stop it.
            Some(last) => (last.rests_until > now, next.due.max(last.ended.min(now))),
            None => (false, next.due),
        });
        for next in waiting {
            if let Some(lease) = self.queue.claim_key(next.key, LEASE).await? {
                return Ok(Some((lease, next.account)));
            }
        }
        Ok(None)
    }
}

impl Job for Diffs {
    const NAME: &'static str = "diffs";

    async fn round(&mut self) -> Result<Pause> {
        if !self.context.settings.makes_diffs {
            return Ok(Pause::For(Duration::from_hours(1)));
        }
        if let Some(claim) = &self.claim {
            // The database failed, too.
            retry_later(&self.context, claim).await?;
            self.claim = None;
        }
        if let Err(error) = self.follow().await {
            tracing::warn!(cause = chain(&error), "failed to look where devices have moved; retrying");
        }
        self.throttle.rest().await;
        let Some((lease, account)) = self.claim().await? else { return Ok(Pause::AtMost(TICK)) };
        let began = self.context.now();
        let claim = self.claim.insert(Claim { lease, began });
        self.suspended.retain(|_, (at, _)| (0..MAX_SUSPENDED).contains(&began.as_millis().saturating_sub(at.as_millis())));
        let mut suspended = self.suspended.remove(&claim.lease.key).map(|(_, suspended)| suspended);
        let worked = Box::pin(work(&self.context, claim, &mut suspended, &mut self.throttle)).await;
        if let Some(suspended) = suspended {
            self.suspended.insert(claim.lease.key.clone(), (self.context.now(), suspended));
        }
        let now = self.context.now();
        let took = now.as_millis().saturating_sub(began.as_millis()).clamp(0, MAX_REST);
        self.turns.insert(account, Last { ended: now, rests_until: now.plus_millis(took) });
        worked?;
        self.claim = None;
        Ok(Pause::For(Duration::ZERO))
    }

    async fn woken(&mut self) {
        self.context.differ.woken().await;
    }

    /// Leaves what it was working on to the next process. A lease that expires counts as a failure of the work.
    async fn finish(self) {
        let Some(claim) = &self.claim else { return };
        if let Err(error) = claim.release(&self.context).await {
            tracing::warn!(app.id = claim.lease.key, cause = chain(&error), "failed to release the work on diffs");
        }
    }
}

/// Works on an app while renewing the lease. If the lease is lost, the work is dropped: somebody else does it.
async fn work(app: &Context, claim: &Claim, suspended: &mut Option<Suspended>, throttle: &mut Throttle) -> Result<()> {
    let lease = &claim.lease;
    let mut renewal = interval(RENEWAL);
    renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let renewed = async {
        loop {
            renewal.tick().await;
            let mut tx = app.db.write().await?;
            let is_ours = outbox::renew(&mut tx, lease, app.now().plus_millis(LEASE)).await?;
            tx.commit().await?;
            if !is_ours {
                return Ok::<(), Error>(());
            }
        }
    };
    let worked = tokio::select! {
        worked = turn::take(app, claim, suspended, throttle) => worked.map(drop),
        ended = renewed => ended,
    };
    let Err(error) = worked else { return Ok(()) };
    tracing::warn!(app.id = lease.key, cause = chain(&error), "diffs of an app could not be made; retrying later");
    retry_later(app, claim).await
}

/// Counts a failure.
async fn retry_later(app: &Context, claim: &Claim) -> Result<()> {
    let delay = (1_000_i64 << claim.lease.attempts.clamp(0, 10)).min(MAX_DELAY);
    claim.retry_later(app, app.now().plus_millis(delay)).await
}
