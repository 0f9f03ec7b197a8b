//! Authenticator apps over HTTP.

use axum::Extension;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::audit::ClientAddress;
use crate::domain::error::AppResult;
use crate::domain::login::fresh;
use crate::domain::second_factors::Proof;
use crate::domain::second_factors::recovery::service::Codes;
use crate::domain::second_factors::totp::service;
use crate::http::AppState;
use crate::http::api::login::SessionOut;
use crate::http::api::second_factors::{FactorRemovedOut, LoginCode, NoMembers, proof_of};
use crate::http::extract::{Json, Member};
use shared::FieldErrors;
use shared::api::second_factors::{FactorChange, StepUpProof};

/// A seed to be put into an authenticator app. It is shown this once.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuthenticatorSetup)]
pub struct SetupOut {
    /// The seed to type: base32.
    secret: String,
    /// The seed as an app reads it.
    #[schema(format = "uri")]
    otpauth_url: String,
    /// The same to be scanned: an SVG picture as a data address.
    #[schema(format = "uri")]
    qr_code: String,
}

/// A code of the app that was set up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "code": "123456" }))]
pub struct Confirmation {
    /// A text: the code that the app shows.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1)]
    pub code: Member,
    /// A fresh proof of a factor that the account has already; needed when it has one.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// The authenticator app is in force.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuthenticatorConfirmed)]
pub struct ConfirmedOut {
    mfa_enabled: bool,
    /// When this was the first factor: recovery codes, shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_codes: Option<Vec<String>>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(set_up_totp))
        .routes(routes!(confirm_totp))
        .routes(routes!(remove_totp))
        .routes(routes!(log_in_with_totp))
}

/// Begin to set up an authenticator app. It counts once a code of it is confirmed, within ten minutes; until then an earlier one stays in force.
///
/// For the account's first factor the session must be fresh: `reauth_required`.
#[utoipa::path(
    post,
    path = "/v1/mfa/totp/setup",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = NoMembers,
    responses((status = 200, body = SetupOut))
)]
pub async fn set_up_totp(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    body: AppResult<Json<NoMembers>>,
) -> AppResult<Json<SetupOut>> {
    fresh::check_first_factor(&mut app.db.read().await?, &app, &caller).await?;
    let Json(NoMembers {}) = body?;
    let seed = service::set_up(&app, &caller, from).await?;
    Ok(Json(SetupOut { secret: seed.secret(), otpauth_url: seed.url()?, qr_code: seed.qr_code()? }))
}

/// Confirm the authenticator app that is being set up, with a code of it. The first factor of an account turns second factors on.
#[utoipa::path(
    post,
    path = "/v1/mfa/totp/confirm",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = Confirmation,
    responses((status = 200, body = ConfirmedOut), (status = 409))
)]
pub async fn confirm_totp(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    Json(confirmation): Json<Confirmation>,
) -> AppResult<Json<ConfirmedOut>> {
    let mut errors = FieldErrors::default();
    let code = errors.take("code", confirmation.code.filled_text());
    let proof = errors.take("stepUp", Proof::of(&confirmation.step_up));
    let (Some(code), Some(proof)) = (code, proof) else { return Err(errors.into()) };
    let codes = service::confirm(&app, &caller, from, code, proof.as_ref()).await?;
    Ok(Json(ConfirmedOut { mfa_enabled: true, recovery_codes: codes.map(Codes::reveal) }))
}

/// Remove the authenticator app. Without another factor, second factors are off then, and the recovery codes are gone.
#[utoipa::path(
    delete,
    path = "/v1/mfa/totp",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = Option<FactorChange>,
    responses((status = 200, body = FactorRemovedOut), (status = 404))
)]
pub async fn remove_totp(
    State(app): State<AppState>,
    caller: LoginSession,
    from: ClientAddress,
    body: Option<Json<FactorChange>>,
) -> AppResult<Json<FactorRemovedOut>> {
    let proof = proof_of(body)?;
    let mfa_enabled = service::remove(&app, &caller, from, proof.as_ref()).await?;
    Ok(FactorRemovedOut::new("the authenticator app was removed", mfa_enabled))
}

/// Complete a login with a code of the authenticator app.
#[utoipa::path(
    post,
    path = "/v1/auth/mfa/totp",
    tag = "mfa",
    request_body = LoginCode,
    responses((status = 200, body = SessionOut), (status = 401), (status = 403), (status = 429))
)]
pub async fn log_in_with_totp(
    State(app): State<AppState>,
    Extension(from): Extension<ClientAddress>,
    Json(shown): Json<LoginCode>,
) -> AppResult<Json<SessionOut>> {
    let (token, code) = shown.parts()?;
    Ok(Json(service::log_in(&app, from, token, code).await?.into()))
}
