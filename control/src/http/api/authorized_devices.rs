//! Authorized devices: the credentials of CLIs.

use axum::extract::State;
use axum::http::StatusCode;
use shared::api::access_keys::CredentialOrigin;
use shared::api::cli_login::{AuthorizedDevice, AuthorizedDevicesAnswer};
use shared::ids::AccessKeyId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::cli_login::authorized_devices as service;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::extract::{CredentialPath, Json};

fn present(of: Credential, current: &AccessKeyId) -> AuthorizedDevice {
    AuthorizedDevice {
        is_current: of.id == *current,
        credential_origin: of.kind().origin().map_or("", CredentialOrigin::as_str).to_owned(),
        credential_id: of.id,
        device_id: of.device_id,
        device_name: of.device_name,
        client_name: of.client_name,
        client_version: of.client_version,
        client_platform: of.client_platform,
        created_by: of.created_by,
        created_time: of.created_time,
        last_used_time: of.last_used_time,
        expires: of.expires,
    }
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_authorized_devices)).routes(routes!(revoke_current_device)).routes(routes!(revoke_device))
}

/// List authorized devices.
#[utoipa::path(
    get,
    path = "/v1/cli/devices",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = AuthorizedDevicesAnswer))
)]
pub async fn list_authorized_devices(State(app): State<AppState>, caller: LoginSession) -> Result<Json<AuthorizedDevicesAnswer>> {
    let devices = service::list(&app, &caller).await?.into_iter().map(|found| present(found, caller.credential()));
    Ok(Json(AuthorizedDevicesAnswer { devices: devices.collect() }))
}

/// Revoke the current device.
///
/// Revokes the CLI credential that the request uses. Returns 404 if the request uses a dashboard session.
#[utoipa::path(
    delete,
    path = "/v1/cli/devices/current",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 204), (status = 404))
)]
pub async fn revoke_current_device(State(app): State<AppState>, caller: LoginSession) -> Result<StatusCode> {
    service::remove(&app, &caller, caller.credential()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke an authorized device.
#[utoipa::path(
    delete,
    path = "/v1/cli/devices/{credential}",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn revoke_device(State(app): State<AppState>, caller: LoginSession, CredentialPath(id): CredentialPath) -> Result<StatusCode> {
    service::remove(&app, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
