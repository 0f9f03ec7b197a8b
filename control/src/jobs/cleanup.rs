//! The job that deletes expired rows: registrations nobody verified, password resets, sessions that have expired, what second factors left open, requests
//! of command lines, limits that no longer count anything, device cookies and networks of sign-ins, what is left of deleted apps and deployments. Nothing depends on it but the size of the
//! database: whoever reads these rows looks at their times, or at what they refer to. It also measures deployments that are older than their bound,
//! and moves work that the release before this one has left in its own tables.
//!
//! Which rows are over, the area that owns them says ([`Expiry`]).

use std::sync::Arc;
use std::time::Duration;

use super::runner::{Job, Rest};
use crate::domain::context::Context;
use crate::domain::counting::gone;
use crate::domain::credentials::{access_keys, device_cookies};
use crate::domain::encryption::check;
use crate::domain::error::Result;
use crate::domain::outbox::adoption;
use crate::domain::releases::size;
use crate::domain::second_factors::passkeys::challenge;
use crate::domain::second_factors::{pending_logins, totp};
use crate::domain::warnings::networks;
use crate::domain::{cli_login, limits, password_reset, registration};
use crate::infra::db::expiry::Expiry;

/// How often it looks.
const EVERY: Duration = Duration::from_mins(1);

/// What each area has that can be over.
const EXPIRIES: [&Expiry; 10] = [
    &registration::repo::EXPIRY,
    &password_reset::repo::EXPIRY,
    &access_keys::repo::EXPIRY,
    &pending_logins::EXPIRY,
    &totp::repo::EXPIRY,
    &challenge::EXPIRY,
    &cli_login::repo::EXPIRY,
    &limits::repo::EXPIRY,
    &device_cookies::repo::EXPIRY,
    &networks::EXPIRY,
];

/// The job.
#[derive(Debug)]
pub struct Cleanup {
    context: Arc<Context>,
    gone: gone::Round,
}

impl Cleanup {
    /// From the beginning.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, gone: gone::Round::default() }
    }
}

impl Job for Cleanup {
    const NAME: &'static str = "cleanup";

    async fn round(&mut self) -> Result<Rest> {
        // Neither keeps the other from being done.
        let noted = check::note(&self.context.db, &self.context.settings.encryption_keys).await;
        while round(&self.context, &mut self.gone).await? {}
        noted?;
        Ok(Rest::For(EVERY))
    }
}

/// One round; whether there may be more.
async fn round(app: &Context, gone: &mut gone::Round) -> Result<bool> {
    let mut is_full = adoption::adopt(&app.db, app.now()).await?;
    for expiry in EXPIRIES {
        is_full |= expiry.step(&app.db, app.now()).await?;
    }
    gone.step(&app.db).await?;
    is_full |= size::measure(app).await?;
    Ok(is_full)
}
