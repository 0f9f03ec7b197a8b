//! Login endpoint.

use axum::Extension;
use axum::extract::State;
use shared::api::login::{IssuedSession, LoginAnswer, NewLogin, PendingLogin};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::audit::ClientAddress;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::error::Result;
use crate::domain::login::service::{self, LoggedIn, Login, Outcome, validate_challenge_token};
use crate::http::AppState;
use crate::http::extract::Json;

impl From<LoggedIn> for IssuedSession {
    fn from(LoggedIn { session, mfa_setup_deadline, .. }: LoggedIn) -> Self {
        Self {
            access_key: session.token.reveal().to_owned(),
            expires: session.expires,
            mfa_setup_required: mfa_setup_deadline.is_some(),
            mfa_setup_deadline,
        }
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(log_in))
}

/// Log in with an email address and a password.
///
/// If the account uses two-factor authentication, the response is a pending login, which a second factor completes.
#[utoipa::path(
    post,
    path = "/v1/auth/login",
    tag = "auth",
    request_body = NewLogin,
    responses((status = 200, body = LoginAnswer), (status = 401), (status = 403), (status = 429))
)]
pub async fn log_in(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(new): Json<NewLogin>,
) -> Result<Json<LoginAnswer>> {
    let login = Login {
        email: new.email.parse(),
        password: new.password.parse(),
        challenge_token: new.challenge_token.optional().and_then(validate_challenge_token),
        device: Device::default(),
    };
    Ok(Json(match service::log_in(&app, from, login).await? {
        Outcome::LoggedIn(logged_in) => LoginAnswer::Session(logged_in.into()),
        Outcome::Pending(pending, methods) => LoginAnswer::Pending(PendingLogin {
            mfa_required: true,
            pending_token: pending.token.reveal().to_owned(),
            expires: pending.expires,
            methods,
        }),
    }))
}
