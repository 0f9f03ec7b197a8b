//! The operations on an account's sessions: those of the dashboard and those that command lines hold.

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
        credential_origin: of.kind().origin().map(str::to_owned),
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

/// List the sessions that can still be used.
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
    RawQuery(query): RawQuery,
) -> Result<Json<RevokedAnswer>> {
    let keeps = keeps_current(query.as_deref().unwrap_or_default())?;
    Ok(Json(RevokedAnswer { revoked: service::end_dashboard(&app, &caller, keeps).await? }))
}

/// End the session that the request is made with.
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
    SourcePath(source): SourcePath,
) -> Result<StatusCode> {
    service::end_from_source(&app, &caller, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The query's `keepCurrent`. A wrong value must not end the session of somebody who meant to keep it.
fn keeps_current(query: &str) -> Result<bool> {
    let mut given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "keepCurrent");
    match (given.next().as_ref().map(|(_, value)| value.as_ref()), given.next()) {
        (None | Some("false" | ""), None) => Ok(false),
        (Some("true"), None) => Ok(true),
        _ => Err(Error::invalid("keepCurrent", "must be true or false")),
    }
}
