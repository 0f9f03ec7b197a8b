//! The two-factor authentication status, and code that several kinds of factors share.

use axum::extract::State;
use shared::FieldErrors;
use shared::api::second_factors::{FactorChange, FactorRemoved, LoginCode, Mfa};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::error::{Error, Result};
use crate::domain::second_factors::{Proof, factors};
use crate::http::AppState;
use crate::http::api::{authenticator_apps, passkeys, recovery_codes};
use crate::http::extract::Json;

/// The token and the code of a body that completes a login. Errors: 400.
pub fn login_code(body: LoginCode) -> Result<(String, String)> {
    let mut errors = FieldErrors::default();
    let token = errors.take("pendingToken", body.pending_token.filled());
    let code = errors.take("code", body.code.filled());
    token.zip(code).ok_or_else(|| errors.into())
}

/// The proof in an optional body. Errors: 400.
pub fn proof_of(body: Option<Json<FactorChange>>) -> Result<Option<Proof>> {
    let change = body.map(|Json(change)| change).unwrap_or_default();
    Proof::validate(change.step_up).map_err(|error| Error::invalid("stepUp", error))
}

/// Responds that a factor was removed.
pub fn removed(message: &str, mfa_enabled: bool) -> Json<FactorRemoved> {
    Json(FactorRemoved { message: message.to_owned(), mfa_enabled })
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_mfa))
        .merge(authenticator_apps::routes())
        .merge(recovery_codes::routes())
        .merge(passkeys::routes())
}

/// Get the account's two-factor authentication status.
#[utoipa::path(
    get,
    path = "/v1/mfa",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = Mfa))
)]
pub async fn get_mfa(State(app): State<AppState>, caller: LoginSession) -> Result<Json<Mfa>> {
    let (found, mfa_setup_deadline) = factors::overview(&mut app.db.read().await?, caller.account()).await?;
    Ok(Json(Mfa {
        mfa_enabled: found.are_on(),
        methods: found.methods(&app),
        passkeys: found.passkeys,
        recovery_codes_remaining: found.recovery_codes,
        mfa_setup_required: !found.are_on(),
        mfa_setup_deadline,
    }))
}
