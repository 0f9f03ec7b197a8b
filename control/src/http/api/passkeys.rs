//! Passkey endpoints.

use axum::extract::State;
use shared::FieldErrors;
use shared::api::second_factors::{
    DeviceType, FactorChange, FactorRemoved, NewPasskey, Passkey, PasskeyAdded, PasskeyAnswer, PasskeyPatch, PasskeysAnswer,
    WebAuthnOptions,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession};
use crate::domain::error::Result;
use crate::domain::second_factors::Proof;
use crate::domain::second_factors::passkeys::repo::PasskeyRow;
use crate::domain::second_factors::passkeys::{Answer, proof, service};
use crate::domain::second_factors::recovery::service::Codes;
use crate::http::AppState;
use crate::http::api::passkey_sign_in;
use crate::http::api::second_factors::{proof_of, removed};
use crate::http::extract::{Json, PasskeyPath};

fn present(row: PasskeyRow) -> Passkey {
    Passkey {
        id: row.id,
        name: row.name,
        device_type: if row.is_backup_eligible { DeviceType::MultiDevice } else { DeviceType::SingleDevice },
        backed_up: row.is_backed_up,
        transports: row.transports.0,
        created_at: row.created_time.iso8601(),
        last_used_at: row.last_used_time.iso8601(),
    }
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

/// Get options to register a passkey.
///
/// The options are valid for five minutes and one response. They replace earlier options of this session.
///
/// For the account's first factor, the session must be fresh (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/mfa/passkeys/register/options",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = WebAuthnOptions), (status = 501))
)]
pub async fn start_passkey_registration(State(app): State<AppState>, caller: DashboardSession) -> Result<Json<WebAuthnOptions>> {
    Ok(Json(WebAuthnOptions { options: service::ask(&app, &caller).await?.into() }))
}

/// Register a passkey.
///
/// Send the browser's registration response. The account's first factor turns two-factor authentication on.
#[utoipa::path(
    post,
    path = "/v1/mfa/passkeys/register/verify",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    request_body = NewPasskey,
    responses((status = 200, body = PasskeyAdded), (status = 409), (status = 501))
)]
pub async fn add_passkey(State(app): State<AppState>, caller: DashboardSession, Json(new): Json<NewPasskey>) -> Result<Json<PasskeyAdded>> {
    let added = service::add(&app, &caller, read(new)).await?;
    let recovery_codes = added.codes.map(Codes::reveal);
    Ok(Json(PasskeyAdded { passkey: present(added.passkey), mfa_enabled: true, recovery_codes }))
}

fn read(new: NewPasskey) -> Result<service::NewPasskey, FieldErrors> {
    let mut errors = FieldErrors::default();
    let response = errors.take("response", new.response.required().and_then(|response| Answer::from(response).new_passkey()));
    let name = errors.take("name", new.name.parse_optional());
    let proof = errors.take("stepUp", Proof::validate(new.step_up));
    match (response, name, proof) {
        (Some(response), Some(name), Some(proof)) => Ok(service::NewPasskey { response, name, proof }),
        _ => Err(errors),
    }
}

/// List passkeys.
///
/// Passkeys are sorted oldest first.
#[utoipa::path(
    get,
    path = "/v1/mfa/passkeys",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = PasskeysAnswer))
)]
pub async fn list_passkeys(State(app): State<AppState>, caller: LoginSession) -> Result<Json<PasskeysAnswer>> {
    let rows = service::list(&mut app.db.read().await?, &caller).await?;
    Ok(Json(PasskeysAnswer { passkeys: rows.into_iter().map(present).collect() }))
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
    PasskeyPath(id): PasskeyPath,
    Json(patch): Json<PasskeyPatch>,
) -> Result<Json<PasskeyAnswer>> {
    let name = patch.name.parse().map_err(|error| FieldErrors::of("name", error))?;
    let row = service::rename(&app, &caller, &id, &name).await?;
    Ok(Json(PasskeyAnswer { passkey: present(row) }))
}

/// Remove a passkey.
///
/// If no other factor remains, this turns two-factor authentication off and deletes the recovery codes.
#[utoipa::path(
    delete,
    path = "/v1/mfa/passkeys/{passkey}",
    tag = "mfa",
    security(("bearer" = ["login session"])),
    request_body = Option<FactorChange>,
    responses((status = 200, body = FactorRemoved))
)]
pub async fn remove_passkey(
    State(app): State<AppState>,
    caller: LoginSession,
    PasskeyPath(id): PasskeyPath,
    body: Option<Json<FactorChange>>,
) -> Result<Json<FactorRemoved>> {
    let proof = proof_of(body)?;
    let mfa_enabled = service::remove(&app, &caller, &id, proof.as_ref()).await?;
    Ok(removed("the passkey was removed", mfa_enabled))
}

/// Get passkey options for a step-up proof.
///
/// The options are valid for five minutes and one response of this session. They replace earlier options.
#[utoipa::path(
    post,
    path = "/v1/mfa/step-up/options",
    tag = "mfa",
    security(("bearer" = ["dashboard session"])),
    responses((status = 200, body = WebAuthnOptions), (status = 409), (status = 501))
)]
pub async fn start_step_up(State(app): State<AppState>, caller: DashboardSession) -> Result<Json<WebAuthnOptions>> {
    Ok(Json(WebAuthnOptions { options: proof::ask_for_step_up(&app, &caller).await?.into() }))
}
