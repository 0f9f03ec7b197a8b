//! Password reset endpoints.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use shared::api::password_reset::{Forgotten, Reset};
use shared::api::registration::Message;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::registration::say;
use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::login::service::validate_challenge_token;
use crate::domain::password_reset::service;
use crate::http::AppState;
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(forgot_password)).routes(routes!(reset_password))
}

/// Request a password reset email.
///
/// The response is the same whether or not the address has an account.
#[utoipa::path(
    post,
    path = "/v1/auth/forgot-password",
    tag = "auth",
    request_body = Forgotten,
    responses((status = 202, body = Message), (status = 403), (status = 429))
)]
pub async fn forgot_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(forgotten): Json<Forgotten>,
) -> Result<(StatusCode, Json<Message>)> {
    let challenge_token = forgotten.challenge_token.optional().and_then(validate_challenge_token);
    service::forgot(&app, from, forgotten.email.parse(), challenge_token).await?;
    Ok((StatusCode::ACCEPTED, say("if this address has an account, an email with a reset link is on its way")))
}

/// Reset a password.
///
/// Send the token from the email. This revokes all sessions and authorized devices, and with `revokeKeys` also all access keys and API keys. Second
/// factors stay.
#[utoipa::path(
    post,
    path = "/v1/auth/reset-password",
    tag = "auth",
    request_body = Reset,
    responses((status = 200, body = Message), (status = 429))
)]
pub async fn reset_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(reset): Json<Reset>,
) -> Result<Json<Message>> {
    let reset = service::Reset {
        token: reset.token.parse(),
        password: reset.password.required(),
        revokes_keys: reset.revoke_keys.optional().map(Option::unwrap_or_default),
    };
    service::reset(&app, from, reset).await?;
    Ok(say("the password was reset and all sessions were revoked: sign in with the new password"))
}
