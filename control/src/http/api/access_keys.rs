//! Access key endpoints. Paths identify a key by its `friendlyName`. Only the response to its creation has the raw key.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::api::Field;
use shared::api::access_keys::{AccessKey, AccessKeyAnswer, AccessKeyPatch, AccessKeysAnswer, NewAccessKey};
use shared::{FieldErrors, Invalid};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession, NotApiKey};
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::Result;
use crate::domain::keys::access_keys::{self as service, DEFAULT_TTL, validate_friendly_name, validate_ttl};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath, encode_segment};

fn present(of: Credential, name: Option<&str>) -> AccessKey {
    AccessKey {
        name: name.map(str::to_owned),
        credential_origin: of.kind().origin(),
        is_session: of.is_session(),
        description: of.friendly_name.clone(),
        friendly_name: of.friendly_name,
        created_by: of.created_by,
        created_time: of.created_time,
        expires: of.expires,
        device_id: of.device_id,
        device_name: of.device_name,
        client_name: of.client_name,
        client_version: of.client_version,
        client_platform: of.client_platform,
    }
}

/// Refuses a raw key from the client: the server generates it.
fn refuse_raw_key(name: &Field<String>) -> Result<(), Invalid> {
    if name.is_given() { Err(Invalid::from("must not be set: the server generates the key")) } else { Ok(()) }
}

fn read(new: NewAccessKey) -> Result<service::NewAccessKey, FieldErrors> {
    let mut errors = FieldErrors::default();
    errors.take("name", refuse_raw_key(&new.name));
    let friendly_name = errors.take("friendlyName", new.friendly_name.required().and_then(|name| validate_friendly_name(&name)));
    errors.take("description", new.description.optional());
    let ttl = errors.take("ttl", new.ttl.optional().and_then(|ttl| validate_ttl(ttl.unwrap_or(DEFAULT_TTL))));
    errors.take("stepUp", Proof::validate(new.step_up));
    match (friendly_name, ttl) {
        (Some(friendly_name), Some(ttl)) if errors.is_empty() => Ok(service::NewAccessKey { friendly_name, ttl }),
        _ => Err(errors),
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_access_keys, create_access_key)).routes(routes!(
        get_access_key,
        update_access_key,
        delete_access_key
    ))
}

/// List access keys.
///
/// Keys are sorted oldest first. A login session also sees the account's sessions.
#[utoipa::path(
    get,
    path = "/v1/access-keys",
    tag = "access-keys",
    security(("bearer" = ["not an API key"])),
    responses((status = 200, body = AccessKeysAnswer))
)]
pub async fn list_access_keys(State(app): State<AppState>, caller: NotApiKey) -> Result<Json<AccessKeysAnswer>> {
    let keys = service::list(&mut app.db.read().await?, &app, &caller).await?;
    let access_keys = keys.into_iter().map(|key| present(key, Some("(hidden)"))).collect();
    Ok(Json(AccessKeysAnswer { access_keys }))
}

/// Create an access key.
///
/// The response has the raw key, which is shown only once. Requires a fresh session: sign in or re-authenticate first (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/access-keys",
    tag = "access-keys",
    security(("bearer" = ["dashboard session"])),
    request_body = NewAccessKey,
    responses((status = 201, body = AccessKeyAnswer), (status = 409))
)]
pub async fn create_access_key(
    State(app): State<AppState>,
    caller: DashboardSession,
    right: NewCredentials,
    body: Result<Json<NewAccessKey>>,
) -> Result<impl IntoResponse> {
    let proof = body.as_ref().ok().and_then(|Json(new)| Proof::early(&new.step_up));
    let new = body.and_then(|Json(new)| Ok(read(new)?));
    let (key, token) = service::add(&app, &caller, right, new, proof.as_ref()).await?;
    let location = format!("/v1/access-keys/{}", encode_segment(&key.friendly_name));
    let answer = AccessKeyAnswer { access_key: present(key, Some(token.reveal())) };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(answer)))
}

/// Get an access key.
///
/// Sessions can be read by their `friendlyName`, too.
#[utoipa::path(
    get,
    path = "/v1/access-keys/{key}",
    tag = "access-keys",
    security(("bearer" = ["login session"])),
    responses((status = 200, body = AccessKeyAnswer))
)]
pub async fn get_access_key(State(app): State<AppState>, caller: LoginSession, KeyPath(name): KeyPath) -> Result<Json<AccessKeyAnswer>> {
    let key = service::find(&mut app.db.read().await?, &app, &caller, &name).await?;
    Ok(Json(AccessKeyAnswer { access_key: present(key, None) }))
}

/// Update an access key.
///
/// Renames an access key or a session, or gives an access key a new `ttl`, which starts now. A later expiry requires a fresh session.
#[utoipa::path(
    patch,
    path = "/v1/access-keys/{key}",
    tag = "access-keys",
    security(("bearer" = ["login session"])),
    request_body = AccessKeyPatch,
    responses((status = 200, body = AccessKeyAnswer), (status = 409))
)]
pub async fn update_access_key(
    State(app): State<AppState>,
    caller: LoginSession,
    KeyPath(name): KeyPath,
    Json(patch): Json<AccessKeyPatch>,
) -> Result<Json<AccessKeyAnswer>> {
    let mut errors = FieldErrors::default();
    errors.take("name", refuse_raw_key(&patch.name));
    let validated = patch.friendly_name.optional().and_then(|name| name.as_deref().map(validate_friendly_name).transpose());
    let friendly_name = errors.take("friendlyName", validated);
    errors.take("description", patch.description.optional());
    let patch = service::AccessKeyPatch {
        friendly_name: friendly_name.filter(|_| errors.is_empty()).ok_or(errors),
        ttl: patch.ttl.optional(),
        proof: Proof::validate(patch.step_up),
    };
    let key = service::update(&app, &caller, &name, patch).await?;
    Ok(Json(AccessKeyAnswer { access_key: present(key, None) }))
}

/// Delete an access key.
///
/// Also revokes a session. An access key can only delete access keys, including itself.
#[utoipa::path(
    delete,
    path = "/v1/access-keys/{key}",
    tag = "access-keys",
    security(("bearer" = ["not an API key"])),
    responses((status = 204))
)]
pub async fn delete_access_key(State(app): State<AppState>, caller: NotApiKey, KeyPath(name): KeyPath) -> Result<StatusCode> {
    service::remove(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
