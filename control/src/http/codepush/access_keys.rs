//! Access keys and sessions.

use axum::extract::State;
use axum::http::StatusCode;
use shared::FieldErrors;
use shared::api::access_keys::AccessKeyPatch;

use super::shape::{AccessKey, AccessKeys, OneAccessKey};
use crate::domain::access::{LoginSession, NotApiKey};
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::keys::access_keys::{self as service, validate_friendly_name};
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath};

/// A credential as clients read it: what somebody signed in with is a session, of the machine with that name.
fn present(of: Credential, name: Option<&'static str>) -> AccessKey {
    AccessKey {
        name,
        is_session: of.kind().is_login(),
        id: of.id,
        description: of.friendly_name.clone(),
        friendly_name: of.friendly_name,
        created_by: of.device_name.unwrap_or(of.created_by),
        created_time: of.created_time,
        expires: of.expires,
    }
}

/// The keys that the caller may see, and for a login also the sessions.
pub(super) async fn list(State(app): State<AppState>, caller: NotApiKey) -> Result<Json<AccessKeys>> {
    let keys = service::list(&mut app.db.read().await?, &app, &caller).await?;
    Ok(Json(AccessKeys { access_keys: keys.into_iter().map(|key| present(key, Some("(hidden)"))).collect() }))
}

/// Refused: keys are created on the dashboard.
pub(super) async fn create(_caller: NotApiKey) -> Error {
    Error::Refused(Refusal::NoDashboardSession)
}

/// One key or session.
pub(super) async fn show(State(app): State<AppState>, caller: LoginSession, KeyPath(name): KeyPath) -> Result<Json<OneAccessKey>> {
    let key = service::find(&mut app.db.read().await?, &app, &caller, &name).await?;
    Ok(Json(OneAccessKey { access_key: present(key, None) }))
}

/// Renames a key, or gives it a new lifetime.
pub(super) async fn update(
    State(app): State<AppState>,
    caller: LoginSession,
    KeyPath(name): KeyPath,
    Json(patch): Json<AccessKeyPatch>,
) -> Result<Json<OneAccessKey>> {
    let validated = patch.friendly_name.optional().and_then(|name| name.as_deref().map(validate_friendly_name).transpose());
    let patch = service::AccessKeyPatch {
        friendly_name: validated.map_err(|error| FieldErrors::of("friendlyName", error)),
        ttl: patch.ttl.optional(),
        proof: Ok(None),
    };
    let key = service::update(&app, &caller, &name, patch).await?;
    Ok(Json(OneAccessKey { access_key: present(key, None) }))
}

/// Deletes a key, or revokes a session.
pub(super) async fn remove(State(app): State<AppState>, caller: NotApiKey, KeyPath(name): KeyPath) -> Result<StatusCode> {
    service::remove(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
