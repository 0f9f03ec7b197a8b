//! Password resets over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Extension, Router};
use serde::Deserialize;

use super::service;
use crate::app::AppState;
use crate::auth::registration::http::MessageOut;
use crate::error::AppResult;
use crate::web::{ClientAddress, Json, Member};

/// Somebody who forgot a password.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forgotten {
    /// A text: the e-mail address.
    #[serde(default)]
    pub email: Member,
    /// A text: the token of a human-verification challenge, where one is configured.
    #[serde(default)]
    pub challenge_token: Member,
}

/// A new password, and the token that allows it.
#[derive(Debug, Deserialize)]
pub struct Reset {
    /// A text: the token of the mail's link.
    #[serde(default)]
    pub token: Member,
    /// A text: the new password.
    #[serde(default)]
    pub password: Member,
}

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new().route("/v1/auth/forgot-password", post(forgot_password)).route("/v1/auth/reset-password", post(reset_password))
}

/// Ask for a mail with a link that takes a new password. The answer is the same whether or not there is an account.
pub async fn forgot_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(forgotten): Json<Forgotten>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::forgot(&app, from, &forgotten).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("if this address has an account, a mail is on its way")))
}

/// Put a new password in the place of a forgotten one, with the token of the mail. It ends every session.
pub async fn reset_password(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(reset): Json<Reset>,
) -> AppResult<Json<MessageOut>> {
    service::reset(&app, from, &reset).await?;
    Ok(MessageOut::new("the password is new, and every session has ended: log in with it"))
}
