//! The login over HTTP.

use axum::Extension;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::error::AppResult;
use crate::domain::login::service::{self, LoggedIn, Login, Outcome};
use crate::http::AppState;
use crate::http::extract::{Json, Member, members};
use shared::FieldErrors;

/// Somebody who wants to log in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "email": "ada@example.com", "password": "a long passphrase nobody guesses" }))]
pub struct NewLogin {
    /// A text: the e-mail address.
    #[serde(default)]
    #[schema(value_type = String, required = true, format = "email", max_length = 255)]
    pub email: Member,
    /// A text: the password.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 1000)]
    pub password: Member,
    /// A text: the token of a human-verification challenge; ignored unless one is needed.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 2048)]
    pub challenge_token: Member,
}

impl NewLogin {
    /// The attempt, of a browser with this device cookie. Errors: 400.
    pub fn judge(&self, device: Device) -> AppResult<Login> {
        let mut errors = FieldErrors::default();
        let email = errors.take("email", members::email(&self.email));
        let password = errors.take("password", members::password(&self.password));
        let challenge_token = errors.take("challengeToken", members::challenge_token(&self.challenge_token));
        let (Some(email), Some(password), Some(challenge_token)) = (email, password, challenge_token) else {
            return Err(errors.into());
        };
        Ok(Login { email, password: password.to_owned(), challenge_token: challenge_token.map(str::to_owned), device })
    }
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = IssuedSession)]
pub struct SessionOut {
    access_key: String,
    expires: UnixMillis,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mfa_setup_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mfa_setup_deadline: Option<UnixMillis>,
}

impl From<LoggedIn> for SessionOut {
    fn from(LoggedIn { session, mfa_setup_deadline, .. }: LoggedIn) -> Self {
        Self {
            access_key: session.token.reveal().to_owned(),
            expires: session.expires,
            mfa_setup_required: mfa_setup_deadline.is_some(),
            mfa_setup_deadline,
        }
    }
}

/// A login that waits for a second factor.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PendingLogin)]
pub struct PendingOut {
    /// True, which tells it from a session.
    mfa_required: bool,
    /// What the login is completed with, besides a second factor.
    pending_token: String,
    /// When it ends.
    expires: UnixMillis,
    /// By which ways it can be completed: `passkey`, `totp`, `recovery_code`.
    methods: Vec<&'static str>,
}

/// What came of a right password.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = LoginAnswer)]
pub enum LoginOut {
    /// The account has no second factor.
    Session(SessionOut),
    /// It has one.
    Pending(PendingOut),
}

impl From<Outcome> for LoginOut {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::LoggedIn(logged_in) => Self::Session(logged_in.into()),
            Outcome::Pending(pending, methods) => Self::Pending(PendingOut {
                mfa_required: true,
                pending_token: pending.token.reveal().to_owned(),
                expires: pending.expires,
                methods,
            }),
        }
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(log_in))
}

/// Log in with an e-mail address and a password. Where the account has a second factor, the answer is a login that waits for it.
#[utoipa::path(
    post,
    path = "/v1/auth/login",
    tag = "auth",
    request_body = NewLogin,
    responses((status = 200, body = LoginOut), (status = 401), (status = 403), (status = 429))
)]
pub async fn log_in(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(new): Json<NewLogin>,
) -> AppResult<Json<LoginOut>> {
    Ok(Json(service::log_in(&app, from, &new.judge(Device::default())?).await?.into()))
}
