//! Authenticator app endpoints.

use axum::Extension;
use axum::extract::State;
use shared::FieldErrors;
use shared::api::login::IssuedSession;
use shared::api::second_factors::{
    AuthenticatorConfirmed, AuthenticatorSetup, Confirmation, FactorChange, FactorRemoved, LoginCode, NoMembers,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::login::completion;
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::totp::service;
use crate::domain::second_factors::{self, Proof};
use crate::http::AppState;
use crate::http::api::second_factors::{login_code, proof_of, removed};
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(set_up_totp))
        .routes(routes!(confirm_totp))
        .routes(routes!(remove_totp))
        .routes(routes!(log_in_with_totp))
}

/// Start authenticator app setup.
///
/// The new app takes effect when one of its codes is confirmed within ten minutes. Until then, an existing authenticator app stays active.
///
/// For the account's first factor, the session must be fresh (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/mfa/totp/setup",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = NoMembers,
    responses((status = 200, body = AuthenticatorSetup))
)]
pub async fn set_up_totp(
    State(app): State<AppState>,
    caller: DashboardSession,
    body: Result<Json<NoMembers>>,
) -> Result<Json<AuthenticatorSetup>> {
    second_factors::check_first(&mut app.db.read().await?, &app, &caller).await?;
    let Json(NoMembers {}) = body?;
    let seed = service::set_up(&app, &caller).await?;
    Ok(Json(AuthenticatorSetup { secret: seed.secret(), otpauth_url: seed.url()?, qr_code: seed.qr_code()? }))
}

/// Confirm authenticator app setup.
///
/// Send a code from the new authenticator app. The account's first factor turns two-factor authentication on.
#[utoipa::path(
    post,
    path = "/v1/mfa/totp/confirm",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = Confirmation,
    responses((status = 200, body = AuthenticatorConfirmed), (status = 409))
)]
pub async fn confirm_totp(
    State(app): State<AppState>,
    caller: DashboardSession,
    Json(confirmation): Json<Confirmation>,
) -> Result<Json<AuthenticatorConfirmed>> {
    let mut errors = FieldErrors::default();
    let code = errors.take("code", confirmation.code.filled());
    let proof = errors.take("stepUp", Proof::validate(confirmation.step_up));
    let (Some(code), Some(proof)) = (code, proof) else { return Err(errors.into()) };
    let codes = service::confirm(&app, &caller, &code, proof.as_ref()).await?;
    Ok(Json(AuthenticatorConfirmed { mfa_enabled: true, recovery_codes: codes.map(Codes::reveal) }))
}

/// Remove the authenticator app.
///
/// If no other factor remains, this turns two-factor authentication off and deletes the recovery codes.
#[utoipa::path(
    delete,
    path = "/v1/mfa/totp",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = Option<FactorChange>,
    responses((status = 200, body = FactorRemoved), (status = 404))
)]
pub async fn remove_totp(
    State(app): State<AppState>,
    caller: LoginSession,
    body: Option<Json<FactorChange>>,
) -> Result<Json<FactorRemoved>> {
    let proof = proof_of(body)?;
    let mfa_enabled = service::remove(&app, &caller, proof.as_ref()).await?;
    Ok(removed("the authenticator app was removed", mfa_enabled))
}

/// Complete a login with an authenticator code.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/totp",
    tag = "mfa",
    request_body = LoginCode,
    responses((status = 200, body = IssuedSession), (status = 401), (status = 403), (status = 429))
)]
pub async fn log_in_with_totp(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<LoginCode>,
) -> Result<Json<IssuedSession>> {
    let (token, code) = login_code(shown)?;
    Ok(Json(completion::by_totp(&app, from, &token, &code).await?.into()))
}
