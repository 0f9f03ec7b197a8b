//! The rules of an account's sessions: dashboard sessions and CLI credentials.

use serde_json::json;

use crate::domain::access::LoginSession;
use crate::domain::audit::{Action, Event};
use crate::domain::cli_login::notice;
use crate::domain::context::Context;
use crate::domain::credentials::access_keys::repo::{self, Credential};
use crate::domain::credentials::{device_cookies as device, session};
use crate::domain::error::{Error, Result, Thing};

/// The account's valid sessions, including CLI credentials; oldest first.
pub async fn list(app: &Context, caller: &LoginSession) -> Result<Vec<Credential>> {
    let sessions = repo::logins(&mut app.db.read().await?, caller.account()).await?;
    Ok(sessions.into_iter().filter(|found| is_alive(app, found)).collect())
}

/// Deletes every dashboard session, or all but the current one. Returns how many of them were still valid. Errors: 401.
pub async fn end_dashboard(app: &Context, caller: &LoginSession, keeps_current: bool) -> Result<usize> {
    let keep = keeps_current.then(|| caller.credential());
    let mut change = caller.begin_holding_account(app).await?;
    let ended = repo::delete_dashboard(&mut change, caller.account(), keep).await?;
    // Device cookies are deleted with the sessions of their browsers.
    device::repo::delete_all(&mut change, caller.account()).await?;
    let revoked = ended.iter().filter(|ended| is_alive(app, ended)).count();
    let details = json!({ "sessions": revoked, "keepCurrent": keeps_current });
    change.commit(Event::new(Action::EndSessions, caller.account()).with(details)).await?;
    Ok(revoked)
}

/// Deletes the caller's session, and notifies the owner if it is a CLI credential. Errors: 401 when it was deleted already.
pub async fn end_current(app: &Context, caller: &LoginSession) -> Result<()> {
    let mut change = caller.begin_holding_account(app).await?;
    let ended = repo::find(&mut change, caller.account(), caller.credential()).await?.ok_or(Error::Unauthenticated)?;
    if repo::delete(&mut change, caller.account(), caller.credential()).await? == 0 {
        return Err(Error::Unauthenticated);
    }
    notice::put_removed(&mut change, caller, &[&ended]).await?;
    change.commit(Event::new(Action::EndSession, caller.credential())).await
}

/// Deletes the sessions that were created from this address or by a device with this name. Notifies the owner about CLI credentials. Errors: 404 when none of
/// them is still valid.
pub async fn end_from_source(app: &Context, caller: &LoginSession, source: &str) -> Result<()> {
    let mut change = caller.begin_holding_account(app).await?;
    let ended = repo::delete_from_source(&mut change, caller.account(), source).await?;
    // Expired ones are not part of this change: deleting them is the clean-up job's work.
    let ended: Vec<&Credential> = ended.iter().filter(|ended| is_alive(app, ended)).collect();
    if ended.is_empty() {
        return Err(Error::NotFound(Thing::Session));
    }
    notice::put_removed(&mut change, caller, &ended).await?;
    let details = json!({ "sessions": ended.len(), "source": source });
    change.commit(Event::new(Action::EndSessions, caller.account()).with(details)).await
}

fn is_alive(app: &Context, found: &Credential) -> bool {
    session::is_alive(found, &app.settings.limits.sessions, app.now())
}
