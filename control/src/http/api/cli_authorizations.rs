//! What the approval screen asks for: the request, and what its user decides.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use shared::ids::CliAuthorizationId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::DashboardSession;
use crate::domain::audit::ClientAddress;
use crate::domain::cli_login::decision::{self, Decided};
use crate::domain::cli_login::request::{self, AuthorizationRow, Mode};
use crate::domain::error::AppResult;
use crate::domain::login::RecentLogin;
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::{AuthorizationPath, Json, Member};

/// The code that a user copied.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliUserCode, example = json!({ "userCode": "BCDF-GHJK" }))]
pub struct UserCodeIn {
    /// Eight letters; case and dashes do not matter.
    #[serde(default)]
    #[schema(value_type = String, required = true)]
    pub user_code: Member,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CliStatus)]
pub enum Status {
    /// Nobody has decided.
    Pending,
    /// It waits for the command line.
    Approved,
    /// The command line is in.
    Consumed,
    /// It was denied.
    Denied,
    /// Its time has run out, or it was cancelled.
    Expired,
}

impl From<request::State> for Status {
    fn from(state: request::State) -> Self {
        match state {
            request::State::Pending => Self::Pending,
            request::State::Approved => Self::Approved,
            request::State::Consumed => Self::Consumed,
            request::State::Denied => Self::Denied,
            request::State::Expired | request::State::Cancelled | request::State::Ended => Self::Expired,
        }
    }
}

/// A request, as the approval screen shows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliAuthorization)]
pub struct AuthorizationOut {
    authorization_id: CliAuthorizationId,
    mode: Mode,
    status: Status,
    /// The machine's name, as the command line gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_name: Option<String>,
    /// The program, as it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_platform: Option<String>,
    /// The address it was made from.
    created_by: String,
    created_time: UnixMillis,
    /// Until when it can be approved.
    expires_at: UnixMillis,
}

impl AuthorizationOut {
    fn new(of: AuthorizationRow, state: request::State) -> AppResult<Self> {
        Ok(Self {
            mode: of.mode()?,
            status: state.into(),
            authorization_id: of.id,
            device_name: of.device.name,
            client_name: of.device.client_name,
            client_version: of.device.client_version,
            client_platform: of.device.client_platform,
            created_by: of.created_by,
            created_time: of.created_time,
            expires_at: of.expires,
        })
    }
}

/// The request that a user code is of.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliResolved)]
pub struct ResolvedOut {
    authorization_id: CliAuthorizationId,
}

/// What was decided.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CliDecision)]
pub struct DecisionOut {
    status: Status,
    mode: Mode,
    /// Where the browser goes; absent for devices. It never holds a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_uri: Option<String>,
}

impl DecisionOut {
    fn new(status: Status, decided: Decided) -> Json<Self> {
        Json(Self { status, mode: decided.mode, redirect_uri: decided.redirect_uri })
    }
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(resolve_user_code))
        .routes(routes!(get_authorization))
        .routes(routes!(approve_authorization))
        .routes(routes!(deny_authorization))
}

/// Find the request that a user code is of. Only a pending one is found.
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/resolve",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    request_body = UserCodeIn,
    responses((status = 200, body = ResolvedOut), (status = 404))
)]
pub async fn resolve_user_code(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    Json(typed): Json<UserCodeIn>,
) -> AppResult<Json<ResolvedOut>> {
    Ok(Json(ResolvedOut { authorization_id: decision::resolve(&app, &caller, from, &typed).await? }))
}

/// Read a request for the approval screen. Once it is decided, only the account that decided can.
#[utoipa::path(
    get,
    path = "/v1/cli/authorizations/{authorization}",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = AuthorizationOut))
)]
pub async fn get_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    AuthorizationPath(id): AuthorizationPath,
) -> AppResult<Json<AuthorizationOut>> {
    let (row, state) = decision::read(&app, &caller, &id).await?;
    Ok(Json(AuthorizationOut::new(row, state)?))
}

/// Approve a request: the command line is let in to the caller's account. The session must be fresh, and with a second factor its login
/// young: `reauth_required`.
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/{authorization}/approve",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = DecisionOut), (status = 409))
)]
pub async fn approve_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    right: NewCredentials,
    recent: RecentLogin,
    from: ClientAddress,
    AuthorizationPath(id): AuthorizationPath,
) -> AppResult<Json<DecisionOut>> {
    let decided = decision::approve(&app, &caller, right, recent, from, &id).await?;
    Ok(DecisionOut::new(Status::Approved, decided))
}

/// Deny a request: the command line is told so, and is not let in.
#[utoipa::path(
    post,
    path = "/v1/cli/authorizations/{authorization}/deny",
    tag = "cli-auth",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = DecisionOut), (status = 409))
)]
pub async fn deny_authorization(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    AuthorizationPath(id): AuthorizationPath,
) -> AppResult<Json<DecisionOut>> {
    let decided = decision::deny(&app, &caller, from, &id).await?;
    Ok(DecisionOut::new(Status::Denied, decided))
}
