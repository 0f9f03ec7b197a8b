//! The operations on access keys. Paths name one by its `friendlyName`; its raw form is in the answer to its creation only.

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
use crate::domain::keys::access_keys::{self as service, DEFAULT_TTL, judge_friendly_name, judge_ttl};
use crate::domain::login::fresh;
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath, encode_segment};

fn present(of: Credential, name: Option<&str>) -> AccessKey {
    AccessKey {
        name: name.map(str::to_owned),
        credential_origin: of.kind().origin().map(str::to_owned),
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

/// The raw key is the server's to make.
fn refuse_raw_key(name: &Field<String>) -> Result<(), Invalid> {
    if name.is_given() { Err(Invalid::from("must not be given: the key is made by the server")) } else { Ok(()) }
}

fn read(new: NewAccessKey) -> Result<service::NewAccessKey, FieldErrors> {
    let mut errors = FieldErrors::default();
    errors.take("name", refuse_raw_key(&new.name));
    let friendly_name = errors.take("friendlyName", new.friendly_name.required().and_then(|name| judge_friendly_name(&name)));
    errors.take("description", new.description.optional());
    let ttl = errors.take("ttl", new.ttl.optional().and_then(|ttl| judge_ttl(ttl.unwrap_or(DEFAULT_TTL))));
    errors.take("stepUp", Proof::judge(new.step_up));
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

/// List the account's access keys, oldest first; to a login session also the sessions.
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

/// Create an access key. The answer shows its raw form, which is never shown again. The session must be fresh: `reauth_required`.
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
    let (Json(new), fresh) = fresh::admit(&app, &caller, body, |Json(new)| Proof::early(&new.step_up)).await?;
    let (key, token) = service::add(&app, &caller, right, fresh, &read(new)?).await?;
    let location = format!("/v1/access-keys/{}", encode_segment(&key.friendly_name));
    let answer = AccessKeyAnswer { access_key: present(key, Some(token.reveal())) };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(answer)))
}

/// Read an access key or a session.
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

/// Rename an access key or a session, or give an access key a new lifetime, which begins now. For a later end the session must be fresh.
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
    let ttl = patch.ttl.optional();
    let fresh = service::prove(&app, &caller, &name, &ttl, Proof::early(&patch.step_up)).await?;
    let mut errors = FieldErrors::default();
    errors.take("name", refuse_raw_key(&patch.name));
    let judged = patch.friendly_name.optional().and_then(|name| name.as_deref().map(judge_friendly_name).transpose());
    let friendly_name = errors.take("friendlyName", judged);
    errors.take("description", patch.description.optional());
    let ttl = errors.take("ttl", ttl.and_then(|ttl| ttl.map(judge_ttl).transpose()));
    errors.take("stepUp", Proof::judge(patch.step_up));
    let (Some(friendly_name), Some(ttl), true) = (friendly_name, ttl, errors.is_empty()) else { return Err(errors.into()) };
    let key = service::update(&app, &caller, fresh, &name, &service::AccessKeyPatch { friendly_name, ttl }).await?;
    Ok(Json(AccessKeyAnswer { access_key: present(key, None) }))
}

/// Delete an access key, or end a session. An access key can delete access keys only, itself included.
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
