//! Recovery code endpoints.

use axum::Extension;
use axum::extract::State;
use shared::api::login::RecoveredSession;
use shared::api::second_factors::{FactorChange, LoginCode, RecoveryCodes};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::login::completion;
use crate::domain::second_factors::recovery::service;
use crate::http::AppState;
use crate::http::api::second_factors::{login_code, proof_of};
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(replace_recovery_codes)).routes(routes!(log_in_with_recovery_code))
}

/// Regenerate recovery codes.
///
/// The previous codes no longer work.
#[utoipa::path(
    post,
    path = "/v1/mfa/recovery-codes",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = Option<FactorChange>,
    responses((status = 200, body = RecoveryCodes), (status = 409))
)]
pub async fn replace_recovery_codes(
    State(app): State<AppState>,
    caller: LoginSession,
    body: Option<Json<FactorChange>>,
) -> Result<Json<RecoveryCodes>> {
    let proof = proof_of(body)?;
    let codes = service::regenerate(&app, &caller, proof.as_ref()).await?;
    Ok(Json(RecoveryCodes { recovery_codes: codes.reveal() }))
}

/// Complete a login with a recovery code.
///
/// Each code works only once.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/recovery",
    tag = "mfa",
    request_body = LoginCode,
    responses((status = 200, body = RecoveredSession), (status = 401), (status = 403), (status = 429))
)]
pub async fn log_in_with_recovery_code(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<LoginCode>,
) -> Result<Json<RecoveredSession>> {
    let (token, code) = login_code(shown)?;
    let (logged_in, recovery_codes_remaining) = completion::by_recovery_code(&app, from, &token, &code).await?;
    Ok(Json(RecoveredSession { session: logged_in.into(), recovery_codes_remaining }))
}
