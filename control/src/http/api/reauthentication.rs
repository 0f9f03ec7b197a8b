//! Re-authentication over HTTP.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::DashboardSession;
use crate::domain::audit::ClientAddress;
use crate::domain::error::AppResult;
use crate::domain::login::fresh::service;
use crate::http::AppState;
use crate::http::extract::{Json, Member};
use shared::api::second_factors::StepUpProof;

/// What shows again who uses the session: the password, or the proof of a second factor where the account has one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "password": "a long passphrase nobody guesses" }))]
pub struct Reauthentication {
    /// A text: the account's password; needed without a second factor.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1000)]
    pub password: Member,
    /// A fresh proof of a second factor; needed when the account has one.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// The session is fresh.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Reauthenticated)]
pub struct ReauthenticatedOut {
    /// Until when it may give lasting access without another proof.
    fresh_until: UnixMillis,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(reauthenticate))
}

/// Re-authenticate a dashboard session, so that it may create keys and give other lasting access for 15 minutes. It makes no other session fresh.
///
/// A wrong password counts as a failed login.
#[utoipa::path(
    post,
    path = "/v1/auth/reauthenticate",
    tag = "auth",
    security(("bearer" = ["dashboard session"])),
    request_body = Reauthentication,
    responses((status = 200, body = ReauthenticatedOut), (status = 409))
)]
pub async fn reauthenticate(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    Json(again): Json<Reauthentication>,
) -> AppResult<Json<ReauthenticatedOut>> {
    Ok(Json(ReauthenticatedOut { fresh_until: service::reauthenticate(&app, &caller, from, &again).await? }))
}
