//! The operations of a caller on its own account.

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, SignedIn};
use crate::domain::audit::ClientAddress;
use crate::domain::error::AppResult;
use crate::domain::profile::service;
use crate::http::AppState;
use crate::http::extract::{Json, Member};
use shared::api::second_factors::StepUpProof;

/// What is to change of an account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "name": "Ada" }))]
pub struct AccountPatch {
    /// A text: the display name.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    pub name: Member,
    /// A text: the new password.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 12, max_length = 1000)]
    pub password: Member,
    /// A text: the password so far; needed with a new one.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 1000)]
    pub current_password: Member,
    /// A fresh proof of a second factor; needed with a new password when the account has one.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// The proof that an account is to be deleted by its owner.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "password": "a long passphrase nobody guesses" }))]
pub struct AccountDeletion {
    /// A text: the account's password.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 1000)]
    pub password: Member,
    /// A fresh proof of a second factor; needed when the account has one.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// An account, as its owner sees it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Account)]
pub struct AccountOut {
    /// The address.
    #[schema(format = "email")]
    pub email: String,
    /// The display name.
    pub name: Option<String>,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Whether the owner has shown to read mail at the address.
    pub email_verified: bool,
    /// Whether it has a second factor.
    pub mfa_enabled: bool,
    /// Other services that its owner may sign in by: none.
    #[schema(value_type = Vec<String>)]
    pub linked_providers: [&'static str; 0],
    /// What it may have.
    pub limits: LimitsOut,
    /// Where uploads go directly.
    pub upload_url: String,
}

/// What an account may have.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccountLimits)]
pub struct LimitsOut {
    /// API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// Days of daily history.
    pub retention_days: i64,
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
    /// Apps that it may own.
    pub max_apps: u32,
    /// Deployments that one of its apps may have.
    pub max_deployments_per_app: u32,
    /// Named access keys.
    pub max_access_keys: u32,
    /// Collaborators that one of its apps may have, its owner included.
    pub max_collaborators_per_app: u32,
    /// Bytes that the bundles of its apps may take together, those of deleted apps included.
    pub max_stored_bytes: u64,
}

/// One account.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountAnswer {
    account: AccountOut,
}

/// That a credential is valid.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthenticatedAnswer {
    authenticated: bool,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(get_account, update_account, delete_account))
        .routes(routes!(check_credential))
        .merge(super::sessions::routes())
}

/// Tell whether the credential is valid; 401 when it is not.
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

/// Read the caller's account.
#[utoipa::path(
    get,
    path = "/v1/account",
    tag = "account",
    security(("bearer" = [])),
    responses((status = 200, body = AccountAnswer))
)]
pub async fn get_account(State(app): State<AppState>, caller: SignedIn) -> AppResult<Json<AccountAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(AccountAnswer { account: service::out(&mut tx, &app, &caller).await? }))
}

/// Change the display name, the password, or both. A new password ends every other session and the command lines' credentials.
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
    from: ClientAddress,
    Json(patch): Json<AccountPatch>,
) -> AppResult<Json<AccountAnswer>> {
    service::update(&app, &caller, from, &patch).await?;
    let mut tx = app.db.read().await?;
    Ok(Json(AccountAnswer { account: service::out(&mut tx, &app, &caller).await? }))
}

/// Delete the caller's account with its credentials. Its deployments' keys stay taken.
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
    from: ClientAddress,
    Json(deletion): Json<AccountDeletion>,
) -> AppResult<StatusCode> {
    service::delete(&app, &caller, from, &deletion).await?;
    Ok(StatusCode::NO_CONTENT)
}
