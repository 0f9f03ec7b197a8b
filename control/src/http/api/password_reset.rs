//! Password resets over HTTP.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::error::AppResult;
use crate::domain::password_reset::service;
use crate::http::AppState;
use crate::http::api::registration::MessageOut;
use crate::http::extract::{Json, Member};

/// Somebody who forgot a password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "email": "ada@example.com" }))]
pub struct Forgotten {
    /// A text: the e-mail address.
    #[serde(default)]
    #[schema(value_type = String, required = true, format = "email", max_length = 255)]
    pub email: Member,
    /// A text: the token of a human-verification challenge, where one is configured.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 2048)]
    pub challenge_token: Member,
}

/// A new password, and the token that allows it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "another long passphrase nobody knows" }))]
pub struct Reset {
    /// A text: the token of the mail's link.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 100)]
    pub token: Member,
    /// A text: the new password.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 12, max_length = 1000)]
    pub password: Member,
    /// A boolean: whether every access key and API key of the account is revoked as well.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub revoke_keys: Member,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(forgot_password)).routes(routes!(reset_password))
}

/// Ask for a mail with a link that takes a new password. The answer is the same whether or not there is an account.
#[utoipa::path(
    post,
    path = "/v1/auth/forgot-password",
    tag = "auth",
    request_body = Forgotten,
    responses((status = 202, body = MessageOut), (status = 403), (status = 429))
)]
pub async fn forgot_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(forgotten): Json<Forgotten>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::forgot(&app, from, &forgotten).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("if this address has an account, a mail is on its way")))
}

/// Put a new password in the place of a forgotten one, with the token of the mail. It ends every session, and with `revokeKeys` every access key and API
/// key. Second factors stay.
#[utoipa::path(
    post,
    path = "/v1/auth/reset-password",
    tag = "auth",
    request_body = Reset,
    responses((status = 200, body = MessageOut), (status = 429))
)]
pub async fn reset_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(reset): Json<Reset>,
) -> AppResult<Json<MessageOut>> {
    service::reset(&app, from, &reset).await?;
    Ok(MessageOut::new("the password is new, and every session has ended: log in with it"))
}
