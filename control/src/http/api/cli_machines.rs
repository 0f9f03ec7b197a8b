//! The machines that were let in: the credentials that command lines hold.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use shared::ids::AccessKeyId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::LoginSession;
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::cli_login::notice;
use crate::domain::context::Context;
use crate::domain::credentials::access_keys::repo::{self, Credential};
use crate::domain::credentials::session;
use crate::domain::error::{AppError, AppResult};
use crate::http::AppState;
use crate::http::extract::{CredentialPath, Json};

const UNKNOWN: AppError = AppError::NotFound("machine");

/// A machine with a credential.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Machine)]
pub struct MachineOut {
    /// The credential's id.
    pub credential_id: AccessKeyId,
    /// The id that the command line gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// The machine's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Its version when it was let in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Its operating system and architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_platform: Option<String>,
    /// By which way it was let in: `cli_browser` or `cli_device`.
    #[schema(value_type = String, required = true)]
    pub credential_origin: Option<&'static str>,
    /// The address it was let in from.
    pub created_by: String,
    /// When it was let in.
    pub created_time: UnixMillis,
    /// When the credential was last used, to within five minutes.
    #[schema(required = true)]
    pub last_used_time: Option<UnixMillis>,
    /// When it ends.
    pub expires: UnixMillis,
    /// Whether the request was made with it.
    pub is_current: bool,
}

impl MachineOut {
    fn new(of: Credential, current: &AccessKeyId) -> Self {
        Self {
            is_current: of.id == *current,
            credential_origin: of.kind().origin(),
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
}

/// Machines, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct MachinesAnswer {
    devices: Vec<MachineOut>,
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_machines)).routes(routes!(remove_current_machine)).routes(routes!(remove_machine))
}

/// List the machines that were let in and still are.
#[utoipa::path(
    get,
    path = "/v1/cli/devices",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = MachinesAnswer))
)]
pub async fn list_machines(State(app): State<AppState>, caller: LoginSession) -> AppResult<Json<MachinesAnswer>> {
    let mut tx = app.db.read().await?;
    let found = repo::logins(&mut tx, caller.account()).await?;
    let machines = found.into_iter().filter(|found| is_machine(&app, found)).map(|found| MachineOut::new(found, caller.credential()));
    Ok(Json(MachinesAnswer { devices: machines.collect() }))
}

/// End the command line's credential that the request is made with; 404 when it is made with a session of the dashboard.
#[utoipa::path(
    delete,
    path = "/v1/cli/devices/current",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 204), (status = 404))
)]
pub async fn remove_current_machine(State(app): State<AppState>, caller: LoginSession, from: ClientAddress) -> AppResult<StatusCode> {
    remove(&app, &caller, from, caller.credential()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End the credential of a machine.
#[utoipa::path(
    delete,
    path = "/v1/cli/devices/{credential}",
    tag = "cli-auth",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn remove_machine(
    State(app): State<AppState>,
    caller: LoginSession,
    from: ClientAddress,
    CredentialPath(id): CredentialPath,
) -> AppResult<StatusCode> {
    remove(&app, &caller, from, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the credential of a machine and tells the owner. Errors: 404 for what is none of the caller's machines.
pub async fn remove(app: &Context, caller: &LoginSession, from: ClientAddress, id: &AccessKeyId) -> AppResult<()> {
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let machine = repo::find(&mut tx, caller.account(), id).await?.filter(|found| is_machine(app, found)).ok_or(UNKNOWN)?;
    if repo::delete(&mut tx, caller.account(), id).await? == 0 {
        return Err(UNKNOWN);
    }
    notice::put_removed(&mut tx, app, caller, from, &[&machine]).await?;
    audit::note(&mut tx, &caller.actor(), Event::new(Action::RemoveMachine, id), &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

fn is_machine(app: &Context, found: &Credential) -> bool {
    found.kind().is_cli() && session::is_alive(found, &app.settings.limits.sessions, app.now())
}
