//! Registration endpoints.

use std::borrow::Cow;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use shared::api::registration::{Message, NewRegistration, Resend, ShownToken};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::accounts::service::validate_name;
use crate::domain::audit::ClientAddress;
use crate::domain::email::Email;
use crate::domain::error::Result;
use crate::domain::login::service::validate_challenge_token;
use crate::domain::registration::{confirm, service};
use crate::http::AppState;
use crate::http::extract::Json;

/// A response with this message.
pub fn say(message: &str) -> Json<Message> {
    Json(Message { message: message.to_owned() })
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(register)).routes(routes!(verify_email)).routes(routes!(resend_verification))
}

/// Register an account.
///
/// Sends a verification email. The response is the same if the address already has an account; its owner is notified by email.
#[utoipa::path(
    post,
    path = "/v1/auth/register",
    tag = "auth",
    request_body = NewRegistration,
    responses((status = 202, body = Message), (status = 403), (status = 429))
)]
pub async fn register(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(new): Json<NewRegistration>,
) -> Result<(StatusCode, Json<Message>)> {
    let new = service::NewRegistration {
        email: new.email.required().and_then(|text| Email::parse_new(&text)),
        name: new.name.optional().and_then(|name| name.map(|name| validate_name(&name).map(Cow::into_owned)).transpose()),
        password: new.password.required(),
        challenge_token: new.challenge_token.optional().and_then(validate_challenge_token),
    };
    service::register(&app, from, new).await?;
    Ok((StatusCode::ACCEPTED, say("a verification email is on its way: open its link to verify the address")))
}

/// Verify an email address.
///
/// Creates the account. Send the token from the verification email. A `password` that differs from the registered one gets 409 and does not use up the
/// token, unless `replacePassword` is true.
#[utoipa::path(
    post,
    path = "/v1/auth/verify-email",
    tag = "auth",
    request_body = ShownToken,
    responses((status = 200, body = Message), (status = 403), (status = 409), (status = 429))
)]
pub async fn verify_email(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<ShownToken>,
) -> Result<Json<Message>> {
    let shown = confirm::Confirmation {
        token: shown.token.parse(),
        password: shown.password.parse_optional(),
        replaces: shown.replace_password.optional().map(Option::unwrap_or_default),
    };
    confirm::verify(&app, from, shown).await?;
    Ok(say("the address is verified: you can now sign in"))
}

/// Resend the verification email.
///
/// The email has a new link for the newest registration from your network, or else for the newest registration. The response is the same whether or not
/// a registration is pending.
#[utoipa::path(
    post,
    path = "/v1/auth/resend-verification",
    tag = "auth",
    request_body = Resend,
    responses((status = 202, body = Message), (status = 403), (status = 429))
)]
pub async fn resend_verification(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(resend): Json<Resend>,
) -> Result<(StatusCode, Json<Message>)> {
    service::resend(&app, from, resend.email.parse()).await?;
    Ok((StatusCode::ACCEPTED, say("if a registration is pending for this address, a verification email is on its way")))
}
