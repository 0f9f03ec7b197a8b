//! Endpoints of the caller's own account.

use axum::extract::State;
use axum::http::StatusCode;
use shared::FieldErrors;
use shared::api::accounts::{Account, AccountAnswer, AccountDeletion, AccountLimits, AccountPatch, AuthenticatedAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, SignedIn};
use crate::domain::accounts::Password;
use crate::domain::accounts::service::validate_name;
use crate::domain::error::Result;
use crate::domain::profile::service::{self, AccountChange, PasswordChange, Profile};
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::Json;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_account, update_account, delete_account))
        .routes(routes!(check_credential))
        .merge(super::sessions::routes())
}

/// Check a credential.
///
/// Returns 401 if the credential is not valid.
#[utoipa::path(
    get,
    path = "/v1/authenticated",
    tag = "auth",
    security(("bearer" = [])),
    responses((status = 200, body = AuthenticatedAnswer))
)]
pub async fn check_credential(_caller: SignedIn) -> Json<AuthenticatedAnswer> {
    Json(AuthenticatedAnswer { authenticated: true })
}

/// Get the authenticated account.
#[utoipa::path(
    get,
    path = "/v1/account",
    tag = "account",
    security(("bearer" = [])),
    responses((status = 200, body = AccountAnswer))
)]
pub async fn get_account(State(app): State<AppState>, caller: SignedIn) -> Result<Json<AccountAnswer>> {
    answer(&app, &caller).await
}

/// Responds with the caller's account.
async fn answer(app: &AppState, caller: &SignedIn) -> Result<Json<AccountAnswer>> {
    let Profile { account, has_second_factor } = service::find(&mut app.db.read().await?, caller).await?;
    let quotas = app.settings.limits.quotas;
    Ok(Json(AccountAnswer {
        account: Account {
            email: account.email,
            name: account.name,
            created_time: account.created_time,
            email_verified: account.email_verified,
            mfa_enabled: has_second_factor,
            linked_providers: Vec::new(),
            limits: AccountLimits {
                max_api_keys: account.max_api_keys,
                retention_days: account.retention_days,
                max_upload_bytes: account.max_upload_bytes,
                max_apps: quotas.apps,
                max_deployments_per_app: quotas.deployments,
                max_access_keys: quotas.access_keys,
                max_collaborators_per_app: quotas.collaborators,
                max_stored_bytes: quotas.stored_bytes,
            },
            upload_url: app.settings.upload_url.clone(),
        },
    }))
}

/// Update the account.
///
/// Changes the display name, the password, or both. A new password revokes all other sessions and all authorized devices.
#[utoipa::path(
    patch,
    path = "/v1/account",
    tag = "account",
    security(("bearer" = ["dashboard session"])),
    request_body = AccountPatch,
    responses((status = 200, body = AccountAnswer), (status = 409))
)]
pub async fn update_account(
    State(app): State<AppState>,
    caller: DashboardSession,
    Json(patch): Json<AccountPatch>,
) -> Result<Json<AccountAnswer>> {
    let AccountPatch { name, password, current_password, step_up } = patch;
    let change = AccountChange {
        name: name.optional().and_then(|name| name.map(|name| Ok(validate_name(&name)?.into_owned())).transpose()),
        password: password.is_given().then(|| PasswordChange { new: password.required(), current: current_password.parse() }),
        proof: Proof::validate(step_up),
    };
    service::update(&app, &caller, change).await?;
    answer(&app, &caller).await
}

/// Delete the account.
///
/// Also deletes its credentials. The keys of its deployments stay taken.
#[utoipa::path(
    delete,
    path = "/v1/account",
    tag = "account",
    security(("bearer" = ["dashboard session"])),
    request_body = AccountDeletion,
    responses((status = 204), (status = 409))
)]
pub async fn delete_account(
    State(app): State<AppState>,
    caller: DashboardSession,
    Json(deletion): Json<AccountDeletion>,
) -> Result<StatusCode> {
    let mut errors = FieldErrors::default();
    let password = errors.take("password", deletion.password.parse::<Password>());
    let proof = errors.take("stepUp", Proof::validate(deletion.step_up));
    let (Some(password), Some(proof)) = (password, proof) else { return Err(errors.into()) };
    service::delete(&app, &caller, &password, proof.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
