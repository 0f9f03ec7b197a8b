//! Registrations over HTTP.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::error::AppResult;
use crate::domain::registration::{confirm, service};
use crate::http::AppState;
use crate::http::extract::{Json, Member};

/// Somebody who wants an account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "email": "ada@example.com", "password": "a long passphrase nobody guesses", "name": "Ada" }))]
pub struct NewRegistration {
    /// A text: the e-mail address.
    #[serde(default)]
    #[schema(value_type = String, required = true, format = "email", max_length = 255)]
    pub email: Member,
    /// A text: the password. One that is easily guessed or common, or that is little more than your name or address, is refused.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 12, max_length = 1000)]
    pub password: Member,
    /// A text: the display name.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    pub name: Member,
    /// A text: the token of a human-verification challenge, where one is configured.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 2048)]
    pub challenge_token: Member,
}

/// The token of a mail's link, and the password that the account is to have.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "a long passphrase nobody guesses" }))]
pub struct ShownToken {
    /// A text: the token.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 100)]
    pub token: Member,
    /// A text: the password that you registered with. Without it the token alone serves, for programs that read their own mail.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1000)]
    pub password: Member,
    /// A boolean: whether a password that is not the registered one becomes the account's, and the registered name is dropped.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub replace_password: Member,
}

/// An address that wants another mail.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "email": "ada@example.com" }))]
pub struct Resend {
    /// A text: the e-mail address.
    #[serde(default)]
    #[schema(value_type = String, required = true, format = "email", max_length = 255)]
    pub email: Member,
}

/// What was done, for people.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
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
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(register)).routes(routes!(verify_email)).routes(routes!(resend_verification))
}

/// Register an e-mail address. The answer is the same whether or not it has an account; a mail tells its owner.
#[utoipa::path(
    post,
    path = "/v1/auth/register",
    tag = "auth",
    request_body = NewRegistration,
    responses((status = 202, body = MessageOut), (status = 403), (status = 429))
)]
pub async fn register(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(new): Json<NewRegistration>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::register(&app, from, &new).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("a mail is on its way: open its link to verify the address")))
}

/// Verify an e-mail address with the token of its mail; this creates the account. A password other than the registered one is 409 and leaves the
/// token as it is, unless `replacePassword` is true.
#[utoipa::path(
    post,
    path = "/v1/auth/verify-email",
    tag = "auth",
    request_body = ShownToken,
    responses((status = 200, body = MessageOut), (status = 403), (status = 409), (status = 429))
)]
pub async fn verify_email(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<ShownToken>,
) -> AppResult<Json<MessageOut>> {
    confirm::verify(&app, from, &shown).await?;
    Ok(MessageOut::new("the address is verified: log in with it"))
}

/// Send the verification mail again, with a new link: for the newest registration from your network, else for the newest. The answer is the same
/// whether or not a registration waits.
#[utoipa::path(
    post,
    path = "/v1/auth/resend-verification",
    tag = "auth",
    request_body = Resend,
    responses((status = 202, body = MessageOut), (status = 403), (status = 429))
)]
pub async fn resend_verification(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(resend): Json<Resend>,
) -> AppResult<(StatusCode, Json<MessageOut>)> {
    service::resend(&app, from, &resend).await?;
    Ok((StatusCode::ACCEPTED, MessageOut::new("if a registration waits for this address, a mail is on its way")))
}
