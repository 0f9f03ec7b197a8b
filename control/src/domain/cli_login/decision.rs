//! Step two: someone signed in to the dashboard finds a request, reviews it, and approves or denies it.

use serde_json::json;
use shared::ids::CliAuthorizationId;

use super::exchange::is_session_alive;
use super::repo::{self, Decision};
use super::request::{AuthorizationRow, Mode, State};
use super::user_code::UserCode;
use crate::domain::access::DashboardSession;
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::{Conflict, RequestEnd};
use crate::domain::context::Context;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, RateLimit, Result, Thing};
use crate::domain::limits::{Count, Limit, Subject};
use crate::domain::login::RecentLogin;
use crate::domain::second_factors::NewCredentials;
use crate::domain::traces;

const UNKNOWN: Error = Error::NotFound(Thing::Authorization);

/// A decision, for the one who made it. It has no `Debug`, because the redirect contains the code and the state.
pub struct Decided {
    /// The flow that the CLI uses.
    pub mode: Mode,
    /// Where to redirect the browser; none for the device flow.
    pub redirect_uri: Option<String>,
}

/// The pending request with this user code. Wrong codes are counted per account. Errors: 404, 429.
pub async fn resolve(app: &Context, caller: &DashboardSession, code: &UserCode) -> Result<CliAuthorizationId> {
    let rate = app.settings.limits.cli.resolves;
    let mut tx = app.db.write().await?;
    caller.recheck(&mut tx, app).await?;
    let now = app.now();
    // The counter's row stays locked: of any number of concurrent guesses, no more than the limit learn whether they were right.
    let count = Count::lock(&mut tx, Limit::CliResolves, &Subject::account(caller.account()), now).await?;
    if let Some(seconds) = count.times().wait(rate, now) {
        traces::refused(app, caller.from(), Limit::CliResolves.as_str(), Some(caller.account()));
        return Err(Error::TooMany { limit: RateLimit::UserCodes, retry_after: seconds });
    }
    let cancelled = accounts::repo::cli_cancelled_time(&mut tx, caller.account()).await?;
    let found = repo::find_by_user_code(&mut tx, code, now, cancelled).await?;
    if found.is_some() {
        count.leave(&mut tx).await?;
    } else {
        count.add(&mut tx, rate, now).await?;
    }
    tx.commit().await?;
    found.ok_or(UNKNOWN)
}

/// A request and its state as this account sees it, for anyone who may decide on it or has decided. Errors: 404.
pub async fn read(app: &Context, caller: &DashboardSession, id: &CliAuthorizationId) -> Result<(AuthorizationRow, State)> {
    let mut tx = app.db.read().await?;
    let row = repo::find(&mut tx, id).await?.filter(|row| row.is_seen_by(caller.account())).ok_or(UNKNOWN)?;
    let state = row.state(app.now());
    let is_cancelled = match (state, &row.session_id) {
        (State::Pending, _) => row.created_time <= accounts::repo::cli_cancelled_time(&mut tx, caller.account()).await?,
        (State::Approved, Some(session)) => !is_session_alive(&mut tx, app, caller.account(), session).await?,
        _ => false,
    };
    Ok((row, if is_cancelled { State::Cancelled } else { state }))
}

/// Authorizes a CLI on behalf of the approving session. Errors: 404, 409 when the request is no longer pending.
pub async fn approve(
    app: &Context,
    caller: &DashboardSession,
    _right: NewCredentials,
    _recent: RecentLogin,
    id: &CliAuthorizationId,
) -> Result<Decided> {
    let code = PlainToken::code(&app.entropy)?;
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

/// Denies a CLI. Errors: 404, 409 when the request is no longer pending.
pub async fn deny(app: &Context, caller: &DashboardSession, id: &CliAuthorizationId) -> Result<Decided> {
    let mut change = caller.begin_holding_account(app).await?;
    let row = decide(&mut change, caller, id, |_| Decision::Deny).await?;
    let decided = Decided { mode: row.mode, redirect_uri: row.redirect_with("error", "access_denied") };
    finish(change, Action::DenyCliAuthorization, &row, decided).await
}

/// Decides on a pending request, and returns it.
async fn decide<'a>(
    tx: &mut Change<'_>,
    caller: &DashboardSession,
    id: &CliAuthorizationId,
    decision: impl FnOnce(Mode) -> Decision<'a>,
) -> Result<AuthorizationRow> {
    let app = tx.context();
    let owner = accounts::repo::hold(tx, caller.account()).await?.ok_or(Error::Unauthenticated)?;
    let row = repo::find(tx, id).await?.ok_or(UNKNOWN)?;
    let decision = decision(row.mode);
    // The statement itself checks that the request is pending: another account may have decided since it was read.
    if repo::decide(tx, id, caller.account(), &decision, app.now(), owner.cli_cancelled_time()).await? > 0 {
        return Ok(row);
    }
    let row = repo::find(tx, id).await?.filter(|row| row.is_seen_by(caller.account())).ok_or(UNKNOWN)?;
    let state = if row.state(app.now()) == State::Pending { State::Cancelled } else { row.state(app.now()) };
    Err(Error::Conflict(Conflict::NotPending(why(state))))
}

/// Why nobody can decide anymore.
fn why(state: State) -> RequestEnd {
    match state {
        State::Pending | State::Approved => RequestEnd::Approved,
        State::Consumed => RequestEnd::Consumed,
        State::Denied => RequestEnd::Denied,
        State::Expired => RequestEnd::Expired,
        State::Cancelled => RequestEnd::Cancelled,
        State::Ended => RequestEnd::Ended,
    }
}

async fn finish(change: Change<'_>, action: Action, row: &AuthorizationRow, decided: Decided) -> Result<Decided> {
    change.commit(Event::new(action, &row.id).with(json!({ "mode": decided.mode.as_str() }))).await?;
    Ok(decided)
}
