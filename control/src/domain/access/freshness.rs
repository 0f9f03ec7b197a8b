//! How long ago the owner of a session last proved their identity. Operations that give lasting access require a recent proof.
//!
//! [`crate::domain::login::fresh`] makes a session fresh again.

use shared::time::UnixMillis;

use super::{LoginSession, SignedIn};
use crate::domain::context::Context;
use crate::domain::credentials::access_keys;
use crate::domain::error::{Error, Refusal, Result};
use crate::infra::db::ReadTx;

/// The error for a session whose last proof has expired.
pub const NEEDED: Error = Error::Refused(Refusal::NotFresh);

/// Whether the caller is a person's session whose last proof has expired, now or at the given time. A session without an origin is treated like a dashboard
/// session: a person signed in for it, and it can change roles, transfer apps and delete them. Credentials of programs are exempt.
pub async fn is_stale(tx: &mut ReadTx, app: &Context, caller: &SignedIn, at: UnixMillis) -> Result<bool> {
    let Some(session) = LoginSession::of(caller).filter(|session| !session.kind().is_cli()) else { return Ok(false) };
    let since = access_keys::repo::authenticated_time(tx, session.account(), session.credential()).await?;
    Ok(since.ok_or(Error::Unauthenticated)?.plus_millis(app.settings.limits.sessions.freshness) < at)
}

/// Refuses a session whose last proof has expired, for requests that cannot carry a proof. Errors: 403 with `reauth_required`.
pub async fn check(tx: &mut ReadTx, app: &Context, caller: &SignedIn) -> Result<()> {
    check_at(tx, app, caller, app.now()).await
}

/// The same check as of the time when something began that may finish later.
pub async fn check_at(tx: &mut ReadTx, app: &Context, caller: &SignedIn, begun: UnixMillis) -> Result<()> {
    if is_stale(tx, app, caller, begun).await? { Err(NEEDED) } else { Ok(()) }
}
