//! Session endpoints: dashboard sessions and CLI sessions.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use shared::api::sessions::{RevokedAnswer, Session, SessionsAnswer};
use shared::ids::AccessKeyId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::{Error, Result};
use crate::domain::keys::sessions as service;
use crate::http::AppState;
use crate::http::extract::{Json, SourcePath};

fn present(of: Credential, current: &AccessKeyId) -> Session {
    Session {
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

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, end_dashboard_sessions))
        .routes(routes!(end_current_session))
        .routes(routes!(end_sessions_from_source))
}

/// List active sessions.
#[utoipa::path(
    get,
    path = "/v1/account/sessions",
    tag = "account",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = SessionsAnswer))
)]
pub async fn list_sessions(State(app): State<AppState>, caller: LoginSession) -> Result<Json<SessionsAnswer>> {
    let sessions = service::list(&app, &caller).await?.into_iter().map(|found| present(found, caller.credential()));
    Ok(Json(SessionsAnswer { sessions: sessions.collect() }))
}

/// Revoke all dashboard sessions.
///
/// With `?keepCurrent=true`, all but the current one.
#[utoipa::path(
    delete,
    path = "/v1/account/sessions",
    tag = "account",
    security(("bearer" = ["login session"])),
    params(("keepCurrent" = Option<bool>, Query, description = "`true`: keep the session that the request uses")),
    responses((status = 200, body = RevokedAnswer))
)]
pub async fn end_dashboard_sessions(
    State(app): State<AppState>,
    caller: LoginSession,
    RawQuery(query): RawQuery,
) -> Result<Json<RevokedAnswer>> {
    let keeps = keeps_current(query.as_deref().unwrap_or_default())?;
    Ok(Json(RevokedAnswer { revoked: service::end_dashboard(&app, &caller, keeps).await? }))
}

/// Revoke the current session.
#[utoipa::path(
    delete,
    path = "/v1/account/sessions/current",
    tag = "account",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn end_current_session(State(app): State<AppState>, caller: LoginSession) -> Result<StatusCode> {
    service::end_current(&app, &caller).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke sessions by source.
///
/// Revokes the sessions that were created from this client address, or by the device with this name.
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
    SourcePath(source): SourcePath,
) -> Result<StatusCode> {
    service::end_from_source(&app, &caller, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The query's `keepCurrent`. An invalid value is refused: ignoring it could revoke a session that was meant to be kept.
fn keeps_current(query: &str) -> Result<bool> {
    let mut given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "keepCurrent");
    match (given.next().as_ref().map(|(_, value)| value.as_ref()), given.next()) {
        (None | Some("false" | ""), None) => Ok(false),
        (Some("true"), None) => Ok(true),
        _ => Err(Error::invalid("keepCurrent", "must be true or false")),
    }
}
