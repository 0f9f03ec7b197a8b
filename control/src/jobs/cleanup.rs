//! The job that deletes expired rows: unverified registrations, password resets, sessions, unfinished two-factor steps, CLI authorization requests,
//! rate limit windows, idempotency keys, recent metrics, device cookies, networks of sign-ins, awaited collaborators, what the edge did not trust, packages of unfinished imports, parts of unfinished uploads, and the remains of deleted apps and deployments. Only the size of the
//! database depends on it: readers of these rows check their times, or the rows that they reference. The job also measures deployments created before
//! sizes were stored, and moves work that the previous release has left in its own tables.
//!
//! The area that owns a kind of row defines when it expires ([`Expiry`]).

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Pause};
use crate::domain::access::awaited;
use crate::domain::context::Context;
use crate::domain::counting::{deletions, recent, service as counting};
use crate::domain::credentials::{access_keys, device_cookies};
use crate::domain::encryption::check;
use crate::domain::error::Result;
use crate::domain::imports::packages;
use crate::domain::outbox::adoption;
use crate::domain::releases::{parts, size};
use crate::domain::second_factors::passkeys::challenge;
use crate::domain::second_factors::{pending_logins, totp};
use crate::domain::warnings::networks;
use crate::domain::{cli_login, edge_counters, idempotency, limits, password_reset, registration};
use crate::infra::db::expiry::Expiry;

/// The time between two rounds.
const EVERY: Duration = Duration::from_mins(1);

/// The kinds of rows that expire.
const EXPIRIES: [&Expiry; 13] = [
    &registration::repo::EXPIRY,
    &password_reset::repo::EXPIRY,
    &access_keys::repo::EXPIRY,
    &pending_logins::EXPIRY,
    &totp::repo::EXPIRY,
    &challenge::EXPIRY,
    &cli_login::repo::EXPIRY,
    &limits::repo::EXPIRY,
    &idempotency::repo::EXPIRY,
    &device_cookies::repo::EXPIRY,
    &networks::EXPIRY,
    &awaited::EXPIRY,
    &edge_counters::EXPIRY,
];

/// The job.
#[derive(Debug)]
pub struct Cleanup {
    context: Arc<Context>,
    deletions: deletions::Round,
}

impl Cleanup {
    /// Creates the job.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, deletions: deletions::Round::default() }
    }
}

impl Job for Cleanup {
    const NAME: &'static str = "cleanup";

    async fn round(&mut self) -> Result<Pause> {
        // A failure of one does not prevent the other.
        let noted = check::note(&self.context.db, &self.context.settings.encryption_keys).await;
        while round(&self.context, &mut self.deletions).await? {}
        noted?;
        Ok(Pause::For(EVERY))
    }
}

/// Runs one round. Returns whether there may be more to do.
async fn round(app: &Context, deletions: &mut deletions::Round) -> Result<bool> {
    let mut is_full = adoption::adopt(&app.db, app.now()).await?;
    for expiry in EXPIRIES {
        is_full |= expiry.step(&app.db, app.now()).await?;
    }
    is_full |= packages::expire(app, app.now()).await?;
    is_full |= parts::sweep(app, app.now()).await?;
    deletions.step(&app.db).await?;
    is_full |= counting::purge(&app.db, app.now()).await?;
    is_full |= recent::purge(&app.db, app.now()).await?;
    is_full |= size::measure(app).await?;
    Ok(is_full)
}
