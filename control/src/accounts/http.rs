//! The operations of a caller on its own account.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;

use super::service;
use crate::app::AppState;
use crate::auth::{DashboardSession, SignedIn};
use crate::error::AppResult;
use crate::web::{ClientAddress, Json, Member};

/// What is to change of an account.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountPatch {
    /// A text: the display name.
    #[serde(default)]
    pub name: Member,
    /// A text: the new password.
    #[serde(default)]
    pub password: Member,
    /// A text: the password so far; needed with a new one.
    #[serde(default)]
    pub current_password: Member,
}

/// The proof that an account is to be deleted by its owner.
#[derive(Debug, Deserialize)]
pub struct AccountDeletion {
    /// A text: the account's password.
    #[serde(default)]
    pub password: Member,
}

/// An account, as its owner sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountOut {
    /// The address.
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
    pub linked_providers: [&'static str; 0],
    /// What it may have.
    pub limits: LimitsOut,
    /// Where uploads go directly.
    pub upload_url: String,
}

/// What an account may have.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsOut {
    /// API keys that are neither revoked nor expired.
    pub max_api_keys: i64,
    /// Days of daily history.
    pub retention_days: i64,
    /// The largest bundle of its apps, in bytes.
    pub max_upload_bytes: i64,
}

/// One account.
#[derive(Debug, Serialize)]
pub struct AccountAnswer {
    account: AccountOut,
}

/// That a credential is valid.
#[derive(Debug, Serialize)]
pub struct AuthenticatedAnswer {
    authenticated: bool,
}

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/v1/account", get(get_account).patch(update_account).delete(delete_account))
        .route("/v1/authenticated", get(check_credential))
        .merge(super::sessions::routes())
}

/// Tell whether the credential is valid; 401 when it is not.
pub async fn check_credential(_caller: SignedIn) -> Json<AuthenticatedAnswer> {
    Json(AuthenticatedAnswer { authenticated: true })
}

/// Read the caller's account.
pub async fn get_account(State(app): State<AppState>, caller: SignedIn) -> AppResult<Json<AccountAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(AccountAnswer { account: service::out(&mut tx, &app, &caller).await? }))
}

/// Change the display name, the password, or both. A new password ends every other session and the command lines' credentials.
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
pub async fn delete_account(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    Json(deletion): Json<AccountDeletion>,
) -> AppResult<StatusCode> {
    service::delete(&app, &caller, from, &deletion).await?;
    Ok(StatusCode::NO_CONTENT)
}
