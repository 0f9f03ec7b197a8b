//! Endpoints of the approval screen: read, approve or deny a CLI authorization.

use axum::extract::State;
use shared::FieldErrors;
use shared::api::cli_login::{CliAuthorization, CliDecision, CliMode, CliResolved, CliStatus, CliUserCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::DashboardSession;
use crate::domain::cli_login::decision::{self, Decided};
use crate::domain::cli_login::request::{self, AuthorizationRow, Mode};
use crate::domain::error::Result;
use crate::domain::login::RecentLogin;
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::{AuthorizationPath, Json};

fn status(state: request::State) -> CliStatus {
    match state {
        request::State::Pending => CliStatus::Pending,
        request::State::Approved => CliStatus::Approved,
        request::State::Consumed => CliStatus::Consumed,
        request::State::Denied => CliStatus::Denied,
        request::State::Expired | request::State::Cancelled | request::State::Ended => CliStatus::Expired,
    }
}

fn mode(mode: Mode) -> CliMode {
    match mode {
        Mode::Pkce => CliMode::Pkce,
        Mode::Device => CliMode::Device,
    }
}

fn present(of: AuthorizationRow, state: request::State) -> CliAuthorization {
    CliAuthorization {
        mode: mode(of.mode),
        status: status(state),
        authorization_id: of.id,
        device_name: of.device.name,
        client_name: of.device.client_name,
        client_version: of.device.client_version,
        client_platform: of.device.client_platform,
        created_by: of.created_by,
        created_time: of.created_time,
        expires_at: of.expires,
    }
}

fn decided(status: CliStatus, decided: Decided) -> Json<CliDecision> {
    Json(CliDecision { status, mode: mode(decided.mode), redirect_uri: decided.redirect_uri })
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(resolve_user_code))
        .routes(routes!(get_authorization))
        .routes(routes!(approve_authorization))
        .routes(routes!(deny_authorization))
}

/// Find a CLI authorization by its user code.
///
/// Only a pending authorization is found.
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/resolve",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    request_body = CliUserCode,
    responses((status = 200, body = CliResolved), (status = 404))
)]
pub async fn resolve_user_code(
    State(app): State<AppState>,
    caller: DashboardSession,
    Json(typed): Json<CliUserCode>,
) -> Result<Json<CliResolved>> {
    let code = typed.user_code.parse().map_err(|error| FieldErrors::of("userCode", error))?;
    Ok(Json(CliResolved { authorization_id: decision::resolve(&app, &caller, &code).await? }))
}

/// Get a CLI authorization.
///
/// For the approval screen. After the decision, only the account that decided can read it.
#[utoipa::path(
    get,
    path = "/v1/cli/authorizations/{authorization}",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = CliAuthorization))
)]
pub async fn get_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    AuthorizationPath(id): AuthorizationPath,
) -> Result<Json<CliAuthorization>> {
    let (row, state) = decision::read(&app, &caller, &id).await?;
    Ok(Json(present(row, state)))
}

/// Approve a CLI authorization.
///
/// Gives the CLI access to the caller's account. Requires a fresh session; with two-factor authentication, the login itself must be recent
/// (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/{authorization}/approve",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = CliDecision), (status = 409))
)]
pub async fn approve_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    right: NewCredentials,
    recent: RecentLogin,
    AuthorizationPath(id): AuthorizationPath,
) -> Result<Json<CliDecision>> {
    let decided = decision::approve(&app, &caller, right, recent, &id).await?;
    Ok(self::decided(CliStatus::Approved, decided))
}

/// Deny a CLI authorization.
///
/// The CLI is told about it and gets no access.
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/{authorization}/deny",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = CliDecision), (status = 409))
)]
pub async fn deny_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    AuthorizationPath(id): AuthorizationPath,
) -> Result<Json<CliDecision>> {
    let decided = decision::deny(&app, &caller, &id).await?;
    Ok(self::decided(CliStatus::Denied, decided))
}
