//! The operations on an account's sessions: those of the dashboard and those that command lines hold.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::json;
use shared::ids::AccessKeyId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::cli_login::notice;
use crate::domain::context::Context;
use crate::domain::credentials::access_keys::repo::{self, Credential};
use crate::domain::credentials::{device_cookies as device, session};
use crate::domain::error::{AppError, AppResult};
use crate::http::AppState;
use crate::http::extract::{Json, SourcePath};

/// A session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub struct SessionOut {
    /// Its id.
    pub id: AccessKeyId,
    /// The address it was made from.
    pub created_by: String,
    /// When its owner signed in.
    pub created_time: UnixMillis,
    /// When it was last used, to within five minutes.
    pub last_used_time: Option<UnixMillis>,
    /// When it ends at the latest.
    pub expires: UnixMillis,
    /// How its owner signed in; absent on sessions from before origins were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_origin: Option<&'static str>,
    /// The machine's name, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Its operating system and architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// Whether the request was made with it.
    pub is_current: bool,
}

impl SessionOut {
    fn new(of: Credential, current: &AccessKeyId) -> Self {
        Self {
            is_current: of.id == *current,
            credential_origin: of.kind().origin(),
            id: of.id,
            created_by: of.created_by,
            created_time: of.created_time,
            last_used_time: of.last_used_time,
            expires: of.expires,
            device_name: of.device_name,
            client_name: of.client_name,
            client_platform: of.client_platform,
        }
    }
}

/// Sessions, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionsAnswer {
    sessions: Vec<SessionOut>,
}

/// How many sessions were ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct RevokedAnswer {
    revoked: usize,
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, end_dashboard_sessions))
        .routes(routes!(end_current_session))
        .routes(routes!(end_sessions_from_source))
}

/// List the sessions that can still be used.
#[utoipa::path(
    get,
    path = "/v1/account/sessions",
    tag = "account",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = SessionsAnswer))
)]
pub async fn list_sessions(State(app): State<AppState>, caller: LoginSession) -> AppResult<Json<SessionsAnswer>> {
    let sessions = list(&app, &caller).await?.into_iter().map(|found| SessionOut::new(found, caller.credential()));
    Ok(Json(SessionsAnswer { sessions: sessions.collect() }))
}

/// The account's sessions that can still be used, those that command lines hold among them; oldest first.
pub async fn list(app: &Context, caller: &LoginSession) -> AppResult<Vec<Credential>> {
    let sessions = repo::logins(&mut app.db.read().await?, caller.account()).await?;
    Ok(sessions.into_iter().filter(|found| is_alive(app, found)).collect())
}

/// End every dashboard session; with `?keepCurrent=true` every other one.
#[utoipa::path(
    delete,
    path = "/v1/account/sessions",
    tag = "account",
    security(("bearer" = ["login session"])),
    params(("keepCurrent" = Option<bool>, Query, description = "`true`: not the one that the request is made with")),
    responses((status = 200, body = RevokedAnswer))
)]
pub async fn end_dashboard_sessions(
    State(app): State<AppState>,
    caller: LoginSession,
    actor: Actor,
    RawQuery(query): RawQuery,
) -> AppResult<Json<RevokedAnswer>> {
    let keeps = keeps_current(query.as_deref().unwrap_or_default())?;
    Ok(Json(RevokedAnswer { revoked: end_dashboard(&app, &caller, &actor, keeps).await? }))
}

/// Ends every dashboard session, or every other one, and tells how many could still be used. Errors: 401.
pub async fn end_dashboard(app: &Context, caller: &LoginSession, actor: &Actor, keeps_current: bool) -> AppResult<usize> {
    let keep = keeps_current.then(|| caller.credential());
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let ended = repo::delete_dashboard(&mut tx, caller.account(), keep).await?;
    // What browsers keep beside their sessions is as old as those.
    device::repo::delete_all(&mut tx, caller.account()).await?;
    let revoked = ended.iter().filter(|ended| is_alive(app, ended)).count();
    let event = Event::new(Action::EndSessions, caller.account()).with(json!({ "sessions": revoked, "keepCurrent": keep.is_some() }));
    audit::note(&mut tx, actor, event, &app.dice, app.now()).await?;
    tx.commit().await?;
    Ok(revoked)
}

/// End the session that the request is made with.
#[utoipa::path(
    delete,
    path = "/v1/account/sessions/current",
    tag = "account",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn end_current_session(State(app): State<AppState>, caller: LoginSession, from: ClientAddress) -> AppResult<StatusCode> {
    end_current(&app, &caller, from).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the session that the caller has, and tells the owner when it is a command line's. Errors: 401 when it has ended already.
pub async fn end_current(app: &Context, caller: &LoginSession, from: ClientAddress) -> AppResult<()> {
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let ended = repo::find(&mut tx, caller.account(), caller.credential()).await?.ok_or(AppError::Unauthenticated)?;
    if repo::delete(&mut tx, caller.account(), caller.credential()).await? == 0 {
        return Err(AppError::Unauthenticated);
    }
    notice::put_removed(&mut tx, app, caller, from, &[&ended]).await?;
    let event = Event::new(Action::EndSession, caller.credential());
    audit::note(&mut tx, &caller.actor(), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

/// End the sessions that were made from an address or by a machine of this name.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{source}",
    tag = "account",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn end_sessions_from_source(
    State(app): State<AppState>,
    caller: LoginSession,
    actor: Actor,
    from: ClientAddress,
    SourcePath(source): SourcePath,
) -> AppResult<StatusCode> {
    let mut tx = caller.begin_tx_holding_account(&app).await?;
    let ended = repo::delete_from_source(&mut tx, caller.account(), &source).await?;
    // Those that had ended by themselves are nobody's change; they are left to the job that forgets them.
    let ended: Vec<&Credential> = ended.iter().filter(|ended| is_alive(&app, ended)).collect();
    if ended.is_empty() {
        return Err(AppError::NotFound("session"));
    }
    notice::put_removed(&mut tx, &app, &caller, from, &ended).await?;
    let event = Event::new(Action::EndSessions, caller.account()).with(json!({ "sessions": ended.len(), "source": source }));
    audit::note(&mut tx, &actor, event, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(StatusCode::NO_CONTENT)
}

fn is_alive(app: &Context, found: &Credential) -> bool {
    session::is_alive(found, &app.settings.limits.sessions, app.now())
}

/// The query's `keepCurrent`. A wrong value must not end the session of somebody who meant to keep it.
fn keeps_current(query: &str) -> AppResult<bool> {
    let mut given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "keepCurrent");
    match (given.next().as_ref().map(|(_, value)| value.as_ref()), given.next()) {
        (None | Some("false" | ""), None) => Ok(false),
        (Some("true"), None) => Ok(true),
        _ => Err(AppError::invalid("keepCurrent", "must be true or false")),
    }
}
