//! The second step: somebody who is signed in on the dashboard finds a request, looks at it, and approves or denies it.

use serde_json::json;
use shared::ids::CliAuthorizationId;

use super::exchange::is_session_alive;
use super::repo::{self, Decision};
use super::request::{AuthorizationRow, Mode, State};
use super::user_code::UserCode;
use crate::domain::access::DashboardSession;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, RateLimit, Result, Thing};
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::login::RecentLogin;
use crate::domain::second_factors::NewCredentials;
use crate::domain::traces;

const UNKNOWN: Error = Error::NotFound(Thing::Authorization);

/// What was decided, for the one who decided. It cannot be printed: the redirect holds the code and the state.
pub struct Decided {
    /// By which way the command line comes.
    pub mode: Mode,
    /// Where the browser goes; none for devices.
    pub redirect_uri: Option<String>,
}

/// The pending request with this user code. Wrong ones are counted by account. Errors: 404, 429.
pub async fn resolve(app: &Context, caller: &DashboardSession, code: &UserCode) -> Result<CliAuthorizationId> {
    let rate = app.settings.limits.cli.resolves;
    let mut tx = app.db.write().await?;
    caller.judge(&mut tx, app).await?;
    let now = app.now();
    // Its row stays locked, so that of any number of guesses at once no more than the limit learn whether they were right.
    let count = Count::lock(&mut tx, Limit::CliResolves, &Subject::account(caller.account()), now).await?;
    if let Some(seconds) = count.times().wait(rate, now) {
        traces::refused(app, caller.from(), Limit::CliResolves.as_str(), Some(caller.account()));
        return Err(Error::TooMany { limit: RateLimit::UserCodes, retry_after: seconds });
    }
    let cancelled = repo::cancelled_time(&mut tx, caller.account()).await?;
    let found = repo::find_by_user_code(&mut tx, code, now, cancelled).await?;
    if found.is_some() {
        count.leave(&mut tx).await?;
    } else {
        count.add(&mut tx, rate, now).await?;
    }
    tx.commit().await?;
    found.ok_or(UNKNOWN)
}

/// A request, for whoever may decide on it or has decided, and where it stands for this account. Errors: 404.
pub async fn read(app: &Context, caller: &DashboardSession, id: &CliAuthorizationId) -> Result<(AuthorizationRow, State)> {
    let mut tx = app.db.read().await?;
    let row = repo::find(&mut tx, id).await?.filter(|row| row.is_seen_by(caller.account())).ok_or(UNKNOWN)?;
    let state = row.state(app.now());
    let is_cancelled = match (state, &row.session_id) {
        (State::Pending, _) => row.created_time <= repo::cancelled_time(&mut tx, caller.account()).await?,
        (State::Approved, Some(session)) => !is_session_alive(&mut tx, app, caller.account(), session).await?,
        _ => false,
    };
    Ok((row, if is_cancelled { State::Cancelled } else { state }))
}

/// Lets a command line in, by the session that says so. Errors: 404, 409 when it is no longer pending.
pub async fn approve(
    app: &Context,
    caller: &DashboardSession,
    _right: NewCredentials,
    _recent: RecentLogin,
    id: &CliAuthorizationId,
) -> Result<Decided> {
    let code = PlainToken::code(&app.dice)?;
    let code_expires = app.now().plus_millis(app.settings.limits.cli.code);
    let mut change = caller.begin_holding_account(app).await?;
    NewCredentials::of(&mut change, caller.account(), app).await?;
    RecentLogin::of(&mut change, caller, app).await?;
    let hash = code.hash();
    let row = decide(&mut change, caller, id, |mode| Decision::Approve {
        session: caller.credential(),
        code: (mode == Mode::Pkce).then_some((&hash, code_expires)),
    })
    .await?;
    let decided = Decided { mode: row.mode, redirect_uri: row.redirect_with("code", code.reveal()) };
    finish(change, Action::ApproveCliAuthorization, &row, decided).await
}

/// Refuses a command line. Errors: 404, 409 when it is no longer pending.
pub async fn deny(app: &Context, caller: &DashboardSession, id: &CliAuthorizationId) -> Result<Decided> {
    let mut change = caller.begin_holding_account(app).await?;
    let row = decide(&mut change, caller, id, |_| Decision::Deny).await?;
    let decided = Decided { mode: row.mode, redirect_uri: row.redirect_with("error", "access_denied") };
    finish(change, Action::DenyCliAuthorization, &row, decided).await
}

/// Decides on a request that is pending, and gives it.
async fn decide<'a>(
    tx: &mut Change<'_>,
    caller: &DashboardSession,
    id: &CliAuthorizationId,
    decision: impl FnOnce(Mode) -> Decision<'a>,
) -> Result<AuthorizationRow> {
    let app = tx.context();
    let owner = repo::lock_account(tx, caller.account()).await?.ok_or(Error::Unauthenticated)?;
    let row = repo::find(tx, id).await?.ok_or(UNKNOWN)?;
    let decision = decision(row.mode);
    // The statement asks for itself whether the request is pending: another account may have decided since it was read.
    if repo::decide(tx, id, caller.account(), &decision, app.now(), owner.cancelled()).await? > 0 {
        return Ok(row);
    }
    let row = repo::find(tx, id).await?.filter(|row| row.is_seen_by(caller.account())).ok_or(UNKNOWN)?;
    let state = if row.state(app.now()) == State::Pending { State::Cancelled } else { row.state(app.now()) };
    Err(Error::Conflict(Conflict::NotPending(why(state))))
}

/// Why nobody can decide any more.
fn why(state: State) -> &'static str {
    match state {
        State::Pending | State::Approved => "it is approved",
        State::Consumed => "it is approved, and the command line is in",
        State::Denied => "it is denied",
        State::Expired => "its time has run out",
        State::Cancelled => "a new password or the end of the session has cancelled it",
        State::Ended => "it has ended",
    }
}

async fn finish(change: Change<'_>, action: Action, row: &AuthorizationRow, decided: Decided) -> Result<Decided> {
    change.commit(Event::new(action, &row.id).with(json!({ "mode": decided.mode.as_str() }))).await?;
    Ok(decided)
}
