//! What an account has of second factors, and the bodies that several kinds of them share.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::error::{AppError, AppResult};
use crate::domain::second_factors::Proof;
use crate::domain::second_factors::factors;
use crate::http::AppState;
use crate::http::api::{authenticator_apps, passkeys, recovery_codes};
use crate::http::extract::{Json, Member};
use shared::FieldErrors;
use shared::api::second_factors::FactorChange;

/// A body that says nothing.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(example = json!({}))]
pub struct NoMembers {}

/// A code that completes a login.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "pendingToken": "svc_pl_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "code": "123456" }))]
pub struct LoginCode {
    /// A text: the token of the pending login.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1)]
    pub pending_token: Member,
    /// A text: the code.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1)]
    pub code: Member,
}

impl LoginCode {
    /// The token and the code. Errors: 400.
    pub fn parts(&self) -> AppResult<(&str, &str)> {
        let mut errors = FieldErrors::default();
        let token = errors.take("pendingToken", self.pending_token.filled_text());
        let code = errors.take("code", self.code.filled_text());
        token.zip(code).ok_or_else(|| errors.into())
    }
}

/// The proof in a body that may be left out. Errors: 400.
pub fn proof_of(body: Option<Json<FactorChange>>) -> AppResult<Option<Proof>> {
    let change = body.map(|Json(change)| change).unwrap_or_default();
    Proof::judge(change.step_up).map_err(|error| AppError::invalid("stepUp", error))
}

/// A factor was removed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FactorRemoved)]
pub struct FactorRemovedOut {
    message: &'static str,
    /// Whether the account has another factor.
    mfa_enabled: bool,
}

impl FactorRemovedOut {
    /// The answer.
    pub fn new(message: &'static str, mfa_enabled: bool) -> Json<Self> {
        Json(Self { message, mfa_enabled })
    }
}

/// The second factors of an account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Mfa)]
pub struct MfaOut {
    mfa_enabled: bool,
    /// What a login can be completed with now: `passkey`, `totp`, `recovery_code`.
    methods: Vec<&'static str>,
    /// How many passkeys there are.
    passkeys: i64,
    /// How many recovery codes were not used.
    recovery_codes_remaining: i64,
    /// Whether the account has none and is to set one up.
    mfa_setup_required: bool,
    /// Until when it may be without.
    #[serde(skip_serializing_if = "Option::is_none")]
    mfa_setup_deadline: Option<UnixMillis>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_mfa))
        .merge(authenticator_apps::routes())
        .merge(recovery_codes::routes())
        .merge(passkeys::routes())
}

/// Read which second factors the account has.
#[utoipa::path(
    get,
    path = "/v1/mfa",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = MfaOut))
)]
pub async fn get_mfa(State(app): State<AppState>, caller: LoginSession) -> AppResult<Json<MfaOut>> {
    let mut tx = app.db.read().await?;
    let found = factors::find(&mut tx, caller.account()).await?;
    let deadline = if found.are_on() { None } else { factors::deadline(&mut tx, caller.account()).await? };
    Ok(Json(MfaOut {
        mfa_enabled: found.are_on(),
        methods: found.methods(&app),
        passkeys: found.passkeys,
        recovery_codes_remaining: found.recovery_codes,
        mfa_setup_required: !found.are_on(),
        mfa_setup_deadline: deadline,
    }))
}
