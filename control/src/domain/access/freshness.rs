//! How long ago the owner of a session last proved who they are. Operations that give lasting access ask for a recent proof.
//!
//! How a session becomes fresh again is [`crate::domain::login::fresh`]'s.

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::{LoginSession, SignedIn};
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const SINCE: &str = "SELECT COALESCE(reauthenticated_time, created_time) FROM access_keys WHERE account_id = $1 AND id = $2";
const RENEW: &str = "UPDATE access_keys SET reauthenticated_time = $3 WHERE account_id = $1 AND id = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[SINCE, RENEW];

/// What is answered to a session whose last proof is too old.
pub const NEEDED: Error = Error::Refused(Refusal::NotFresh);

/// Whether the caller is somebody's session whose last proof is, or was then, too old. A session without an origin is treated like one of the dashboard:
/// a person signed in for it, it reaches roles, transfers and deletions of apps, and it is none of the credentials of programs, which are not asked.
pub async fn is_stale(tx: &mut ReadTx, app: &Context, caller: &SignedIn, at: UnixMillis) -> Result<bool> {
    let Some(session) = LoginSession::of(caller).filter(|session| !session.kind().is_cli()) else { return Ok(false) };
    let (account, id) = (session.account(), session.credential());
    let since: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(SINCE).bind(account).bind(id).fetch_optional(conn).await)?;
    Ok(since.ok_or(Error::Unauthenticated)?.plus_millis(app.settings.limits.sessions.freshness) < at)
}

/// Refuses a session whose last proof is too old, where the request can hold none. Errors: 403 with `reauth_required`.
pub async fn check(tx: &mut ReadTx, app: &Context, caller: &SignedIn) -> Result<()> {
    check_at(tx, app, caller, app.now()).await
}

/// The same for what was begun at a time and may finish later.
pub async fn check_at(tx: &mut ReadTx, app: &Context, caller: &SignedIn, begun: UnixMillis) -> Result<()> {
    if is_stale(tx, app, caller, begun).await? { Err(NEEDED) } else { Ok(()) }
}

/// Notes that the owner of a session has shown it again.
pub async fn renew(tx: &mut WriteTx, account: &AccountId, session: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENEW).bind(account).bind(session).bind(now).execute(conn).await)
}
