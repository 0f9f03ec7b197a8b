//! The caller: credential, account, sessions.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::access::{LoginSession, NotApiKey, SignedIn};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::keys::sessions;
use crate::domain::profile::service;
use crate::http::AppState;
use crate::http::extract::{Json, SourcePath};

/// The account as clients show it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    name: String,
    email: String,
    /// Sign-ins by other services: there are none.
    linked_providers: [String; 0],
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct OneAccount {
    account: Account,
}

/// Whether the credential is valid.
pub(super) async fn check(_caller: SignedIn) -> Json<Value> {
    Json(json!({ "authenticated": true }))
}

/// The caller's account.
pub(super) async fn show(State(app): State<AppState>, caller: SignedIn) -> Result<Json<OneAccount>> {
    let account = service::find(&mut app.db.read().await?, &caller).await?.account;
    let name = account.name.unwrap_or_else(|| account.email.clone());
    Ok(Json(OneAccount { account: Account { name, email: account.email, linked_providers: [] } }))
}

/// Revokes the sessions of a machine. A key sees none: clients take that for done when they sign out.
pub(super) async fn end_sessions(State(app): State<AppState>, caller: SignedIn, SourcePath(source): SourcePath) -> Result<StatusCode> {
    let login = NotApiKey::of(caller).ok().and_then(|caller| LoginSession::of(&caller)).ok_or(Error::NotFound(Thing::Session))?;
    sessions::end_from_source(&app, &login, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}
