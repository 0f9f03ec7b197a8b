//! API key endpoints. Members are in `snake_case` for historical reasons.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::api::Field;
use shared::api::api_keys::{ApiKey, ApiKeyPatch, ApiKeysAnswer, NewApiKey};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, DashboardSessionOnly, LoginSession, NotApiKey};
use crate::domain::credentials::api_keys::repo;
use crate::domain::credentials::scope::ScopeSet;
use crate::domain::error::Result;
use crate::domain::keys::api_keys::{self as service, End, validate_name};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath};

fn present(of: repo::ApiKey, key: Option<&str>) -> Result<ApiKey> {
    Ok(ApiKey {
        scopes: of.scopes()?.list(),
        id: of.id,
        name: of.name,
        key_prefix: of.key_prefix,
        key: key.map(str::to_owned),
        expires_at: of.expires_time.map(UnixMillis::iso8601),
        revoked_at: of.revoked_time,
        last_used_at: of.last_used_time,
        created_at: of.created_time,
        updated_at: of.updated_time,
    })
}

/// Parses `expires_at`: absent, null (never expires) or a time in the future.
fn read_end(expires_at: Field<String>, now: UnixMillis) -> Result<Option<End>, Invalid> {
    let wrong = || Invalid::from("must be a time such as 2026-01-31T09:30:00.000Z, or null");
    let text = match expires_at {
        Field::Missing => return Ok(None),
        Field::Null => return Ok(Some(End::Never)),
        given => given.required()?,
    };
    // The parser accepts any separator between date and time.
    if !matches!(text.as_bytes().get("2026-01-31".len()), Some(b'T' | b't')) {
        return Err(wrong());
    }
    let time = OffsetDateTime::parse(&text, &Rfc3339).map_err(|_| wrong())?;
    let millis = i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000_000)).map_err(|_| wrong())?;
    End::At(UnixMillis(millis)).validate(now).map(Some)
}

fn read(new: NewApiKey, now: UnixMillis) -> Result<service::NewApiKey, FieldErrors> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.required().and_then(|name| validate_name(&name)));
    let scopes = errors.take("scopes", new.scopes.required().and_then(ScopeSet::of));
    let end = errors.take("expires_at", read_end(new.expires_at, now));
    errors.take("stepUp", Proof::validate(new.step_up));
    match (name, scopes, end) {
        (Some(name), Some(scopes), Some(end)) if errors.is_empty() => {
            Ok(service::NewApiKey { name, scopes, end: end.unwrap_or(End::Never), id: None })
        }
        _ => Err(errors),
    }
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_api_keys, create_api_key)).routes(routes!(update_api_key, revoke_api_key))
}

/// List API keys.
///
/// Keys are sorted oldest first. Revoked keys are included.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "api-keys",
    security(("bearer" = ["not an API key"])),
    responses((status = 200, body = ApiKeysAnswer))
)]
pub async fn list_api_keys(State(app): State<AppState>, caller: NotApiKey) -> Result<Json<ApiKeysAnswer>> {
    let keys = repo::list(&mut app.db.read().await?, caller.account()).await?;
    let api_keys = keys.into_iter().map(|key| present(key, None)).collect::<Result<_>>()?;
    Ok(Json(ApiKeysAnswer { api_keys }))
}

/// Create an API key.
///
/// The response has the raw key, which is shown only once. Requires a fresh session: sign in or re-authenticate first (`reauth_required`).
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "api-keys",
    security(("bearer" = ["dashboard session"])),
    request_body = NewApiKey,
    responses((status = 201, body = ApiKey))
)]
pub async fn create_api_key(
    State(app): State<AppState>,
    caller: DashboardSessionOnly,
    right: NewCredentials,
    body: Result<Json<NewApiKey>>,
) -> Result<impl IntoResponse> {
    let proof = body.as_ref().ok().and_then(|Json(new)| Proof::early(&new.step_up));
    let new = body.and_then(|Json(new)| Ok(read(new, app.now())?));
    let (key, token) = service::create(&app, &caller, right, new, proof.as_ref()).await?;
    let location = format!("/v1/api-keys/{}", key.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(present(key, Some(token.reveal()))?)))
}

/// Update an API key.
///
/// Changes its name, scopes or expiry. A revoked key cannot be updated. More scopes or a later expiry require a fresh session.
#[utoipa::path(
    patch,
    path = "/v1/api-keys/{key}",
    tag = "api-keys",
    security(("bearer" = ["dashboard session"])),
    request_body = ApiKeyPatch,
    responses((status = 200, body = ApiKey), (status = 409))
)]
pub async fn update_api_key(
    State(app): State<AppState>,
    caller: DashboardSession,
    KeyPath(id): KeyPath,
    Json(patch): Json<ApiKeyPatch>,
) -> Result<Json<ApiKey>> {
    let patch = service::ApiKeyPatch {
        name: patch.name.optional().and_then(|name| name.as_deref().map(validate_name).transpose()),
        scopes: patch.scopes.optional().and_then(|scopes| scopes.map(ScopeSet::of).transpose()),
        end: read_end(patch.expires_at, app.now()),
        proof: Proof::validate(patch.step_up),
    };
    Ok(Json(present(service::update(&app, &caller, &id, patch).await?, None)?))
}

/// Revoke an API key.
///
/// The key no longer works but stays in the list. Revoking it again succeeds.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{key}",
    tag = "api-keys",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn revoke_api_key(State(app): State<AppState>, caller: LoginSession, KeyPath(id): KeyPath) -> Result<StatusCode> {
    service::revoke(&app, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
