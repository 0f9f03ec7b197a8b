//! Passkey sign-in endpoints.

use axum::Extension;
use axum::extract::State;
use shared::FieldErrors;
use shared::api::login::{IssuedSession, LoginAssertion, SignInAssertion, SignInOptions, WaitingLogin};
use shared::api::second_factors::{NoMembers, WebAuthnOptions};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::error::Result;
use crate::domain::login::passkeys::service;
use crate::http::AppState;
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(start_passkey_login))
        .routes(routes!(log_in_with_passkey))
        .routes(routes!(start_passkey_sign_in))
        .routes(routes!(sign_in_with_passkey))
}

/// Get passkey options for a pending login.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/options",
    tag = "mfa",
    request_body = WaitingLogin,
    responses((status = 200, body = WebAuthnOptions), (status = 401), (status = 409), (status = 429), (status = 501))
)]
pub async fn start_passkey_login(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(waiting): Json<WaitingLogin>,
) -> Result<Json<WebAuthnOptions>> {
    let token = waiting.pending_token.filled().map_err(|error| FieldErrors::of("pendingToken", error))?;
    Ok(Json(WebAuthnOptions { options: service::ask_pending(&app, from, &token).await?.into() }))
}

/// Complete a login with a passkey.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/verify",
    tag = "mfa",
    request_body = LoginAssertion,
    responses((status = 200, body = IssuedSession), (status = 401), (status = 429), (status = 501))
)]
pub async fn log_in_with_passkey(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<LoginAssertion>,
) -> Result<Json<IssuedSession>> {
    let mut errors = FieldErrors::default();
    let token = errors.take("pendingToken", shown.pending_token.filled());
    let response = errors.take("response", shown.response.required());
    let (Some(token), Some(response)) = (token, response) else { return Err(errors.into()) };
    Ok(Json(service::complete_pending(&app, from, &token, &response.into()).await?.into()))
}

/// Get passkey options for a passwordless sign-in.
#[utoipa::path(
    post,
    path = "/v1/auth/passkey/options",
    tag = "mfa",
    request_body = NoMembers,
    responses((status = 200, body = SignInOptions), (status = 429), (status = 501))
)]
pub async fn start_passkey_sign_in(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Json<SignInOptions>> {
    let asked = service::ask_anybody(&app, from).await?;
    Ok(Json(SignInOptions { challenge_id: asked.challenge_id, options: asked.options.into() }))
}

/// Sign in with a passkey.
///
/// No password is needed: a passkey with user verification counts as both factors.
#[utoipa::path(
    post,
    path = "/v1/auth/passkey/verify",
    tag = "mfa",
    request_body = SignInAssertion,
    responses((status = 200, body = IssuedSession), (status = 401), (status = 429), (status = 501))
)]
pub async fn sign_in_with_passkey(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<SignInAssertion>,
) -> Result<Json<IssuedSession>> {
    let mut errors = FieldErrors::default();
    let challenge_id = errors.take("challengeId", shown.challenge_id.filled());
    let response = errors.take("response", shown.response.required());
    let (Some(challenge_id), Some(response)) = (challenge_id, response) else { return Err(errors.into()) };
    Ok(Json(service::sign_in(&app, from, &challenge_id, &response.into(), &Device::default()).await?.into()))
}
