//! Registrations over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Extension, Router};
use serde::{Deserialize, Serialize};

use super::service;
use crate::app::AppState;
use crate::error::AppResult;
use crate::web::{ClientAddress, Json, Member};

/// Somebody who wants an account.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRegistration {
    /// A text: the e-mail address.
    #[serde(default)]
    pub email: Member,
    /// A text: the password.
    #[serde(default)]
    pub password: Member,
    /// A text: the display name.
    #[serde(default)]
    pub name: Member,
    /// A text: the token of a human-verification challenge, where one is configured.
    #[serde(default)]
    pub challenge_token: Member,
}

/// The token of a mail's link.
#[derive(Debug, Deserialize)]
pub struct ShownToken {
    /// A text.
    #[serde(default)]
    pub token: Member,
}

/// An address that wants another mail.
#[derive(Debug, Deserialize)]
pub struct Resend {
    /// A text: the e-mail address.
    #[serde(default)]
    pub email: Member,
}

/// What was done, for people.
#[derive(Debug, Serialize)]
pub struct MessageOut {
    message: &'static str,
}

impl MessageOut {
    /// An answer that says `message`.
    pub fn new(message: &'static str) -> Json<Self> {
        Json(Self { message })
    }
}

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/v1/auth/register", post(register))
        .route("/v1/auth/verify-email", post(verify_email))
        .route("/v1/auth/resend-verification", post(resend_verification))
}

/// Register an e-mail address. The answer is the same whether or not it has an account; a mail tells its owner.
pub async fn register(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(new): Json<NewRegistration>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::register(&app, from, &new).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("a mail is on its way: open its link to verify the address")))
}

/// Verify an e-mail address with the token of its mail; the account is made by this.
pub async fn verify_email(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<ShownToken>,
) -> AppResult<Json<MessageOut>> {
    service::verify(&app, from, &shown).await?;
    Ok(MessageOut::new("the address is verified: log in with it"))
}

/// Send the verification mail again, with a new link. The answer is the same whether or not a registration waits.
pub async fn resend_verification(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(resend): Json<Resend>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::resend(&app, from, &resend).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("if a registration waits for this address, a mail is on its way")))
}
