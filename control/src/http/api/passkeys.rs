//! Passkeys over HTTP. Options and responses of WebAuthn have the JSON forms that browsers read and write (Web Authentication level 3, section 5.1):
//! `PublicKeyCredential.parseCreationOptionsFromJSON`, `parseRequestOptionsFromJSON` and `toJSON`.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::ids::PasskeyId;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::audit::ClientAddress;
use crate::domain::error::{AppError, AppResult};
use crate::domain::second_factors::passkeys::repo::PasskeyRow;
use crate::domain::second_factors::passkeys::{proof, service};
use crate::domain::second_factors::recovery::service::Codes;
use crate::http::AppState;
use crate::http::api::passkey_sign_in;
use crate::http::api::second_factors::{FactorRemovedOut, proof_of};
use crate::http::extract::{Json, Member, PasskeyPath};
use shared::api::second_factors::{FactorChange, StepUpProof};

/// A passkey that the browser made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewPasskey {
    /// The registration response, as the browser writes it in JSON.
    #[serde(default)]
    #[schema(value_type = Object, required = true)]
    pub response: Member,
    /// A text: its name; `Passkey` when absent.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    pub name: Member,
    /// A fresh proof of a factor that the account has already; needed when it has one.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// What is to change of a passkey.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "Work laptop" }))]
pub struct PasskeyPatch {
    /// A text: its new name.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 100)]
    pub name: Member,
}

/// What the browser is to be given.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebAuthnOptions)]
pub struct OptionsOut {
    /// WebAuthn options in their JSON form.
    #[schema(value_type = Object)]
    pub(crate) options: Value,
}

/// A passkey.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Passkey)]
pub struct PasskeyOut {
    id: PasskeyId,
    name: String,
    /// `singleDevice` when it stays with its authenticator, `multiDevice` when it may be on several.
    device_type: &'static str,
    /// Whether it was backed up when it was last used.
    backed_up: bool,
    /// How its authenticator is reached, as the browser said.
    transports: Vec<String>,
    #[schema(format = "date-time")]
    created_at: String,
    /// When it was made, if it was not used since.
    #[schema(format = "date-time")]
    last_used_at: String,
}

impl PasskeyOut {
    fn new(row: PasskeyRow) -> AppResult<Self> {
        Ok(Self {
            id: row.id,
            name: row.name,
            device_type: if row.is_backup_eligible { "multiDevice" } else { "singleDevice" },
            backed_up: row.is_backed_up,
            transports: serde_json::from_str(&row.transports).map_err(AppError::internal)?,
            created_at: row.created_time.iso8601(),
            last_used_at: row.last_used_time.iso8601(),
        })
    }
}

/// One passkey.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyAnswer {
    passkey: PasskeyOut,
}

/// Passkeys, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeysAnswer {
    passkeys: Vec<PasskeyOut>,
}

/// A passkey that was added.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PasskeyAdded)]
pub struct PasskeyAddedOut {
    passkey: PasskeyOut,
    mfa_enabled: bool,
    /// When this was the first factor: recovery codes, shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_codes: Option<Vec<String>>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(start_passkey_registration))
        .routes(routes!(add_passkey))
        .routes(routes!(list_passkeys))
        .routes(routes!(rename_passkey, remove_passkey))
        .routes(routes!(start_step_up))
        .merge(passkey_sign_in::routes())
}

/// Ask what a new passkey is to be made by. The options are good for five minutes and one response, and void what the session was given before.
///
/// For the account's first factor the session must be fresh: `reauth_required`.
#[utoipa::path(
    post,
    path = "/v1/mfa/passkeys/register/options",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = OptionsOut), (status = 501))
)]
pub async fn start_passkey_registration(State(app): State<AppState>, caller: DashboardSession) -> AppResult<Json<OptionsOut>> {
    Ok(Json(OptionsOut { options: service::ask(&app, &caller).await? }))
}

/// Add the passkey that the browser has made. The first factor of an account turns second factors on.
#[utoipa::path(
    post,
    path = "/v1/mfa/passkeys/register/verify",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = NewPasskey,
    responses((status = 200, body = PasskeyAddedOut), (status = 409), (status = 501))
)]
pub async fn add_passkey(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    Json(new): Json<NewPasskey>,
) -> AppResult<Json<PasskeyAddedOut>> {
    let added = service::add(&app, &caller, from, &new).await?;
    let recovery_codes = added.codes.map(Codes::reveal);
    Ok(Json(PasskeyAddedOut { passkey: PasskeyOut::new(added.passkey)?, mfa_enabled: true, recovery_codes }))
}

/// List the account's passkeys, oldest first.
#[utoipa::path(
    get,
    path = "/v1/mfa/passkeys",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = PasskeysAnswer))
)]
pub async fn list_passkeys(State(app): State<AppState>, caller: LoginSession) -> AppResult<Json<PasskeysAnswer>> {
    let rows = service::list(&mut app.db.read().await?, &caller).await?;
    Ok(Json(PasskeysAnswer { passkeys: rows.into_iter().map(PasskeyOut::new).collect::<AppResult<_>>()? }))
}

/// Rename a passkey.
#[utoipa::path(
    patch,
    path = "/v1/mfa/passkeys/{passkey}",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = PasskeyPatch,
    responses((status = 200, body = PasskeyAnswer))
)]
pub async fn rename_passkey(
    State(app): State<AppState>,
    caller: LoginSession,
    from: ClientAddress,
    PasskeyPath(id): PasskeyPath,
    Json(patch): Json<PasskeyPatch>,
) -> AppResult<Json<PasskeyAnswer>> {
    let row = service::rename(&app, &caller, from, &id, &patch.name).await?;
    Ok(Json(PasskeyAnswer { passkey: PasskeyOut::new(row)? }))
}

/// Remove a passkey. Without another factor, second factors are off then, and the recovery codes are gone.
#[utoipa::path(
    delete,
    path = "/v1/mfa/passkeys/{passkey}",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = Option<FactorChange>,
    responses((status = 200, body = FactorRemovedOut))
)]
pub async fn remove_passkey(
    State(app): State<AppState>,
    caller: LoginSession,
    from: ClientAddress,
    PasskeyPath(id): PasskeyPath,
    body: Option<Json<FactorChange>>,
) -> AppResult<Json<FactorRemovedOut>> {
    let proof = proof_of(body)?;
    let mfa_enabled = service::remove(&app, &caller, from, &id, proof.as_ref()).await?;
    Ok(FactorRemovedOut::new("the passkey was removed", mfa_enabled))
}

/// Ask what a passkey is to sign for a `stepUp` proof of this session. The options are good for five minutes and one response, and void earlier ones.
#[utoipa::path(
    post,
    path = "/v1/mfa/step-up/options",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = OptionsOut), (status = 409), (status = 501))
)]
pub async fn start_step_up(State(app): State<AppState>, caller: DashboardSession) -> AppResult<Json<OptionsOut>> {
    Ok(Json(OptionsOut { options: proof::ask_for_step_up(&app, &caller).await? }))
}
