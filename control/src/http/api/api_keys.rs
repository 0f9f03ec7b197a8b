//! The operations on API keys. Their members are in snake case, for historical reasons (the specification's part on versions).

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use shared::ids::ApiKeyId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, DashboardSessionAlone, LoginSession, NotApiKey};
use crate::domain::audit::ClientAddress;
use crate::domain::credentials::api_keys::repo::{self, ApiKey};
use crate::domain::credentials::scope::Scope;
use crate::domain::error::AppResult;
use crate::domain::keys::api_keys as service;
use crate::domain::login::fresh;
use crate::domain::second_factors::NewCredentials;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath, Member, Nullable};
use shared::api::second_factors::StepUpProof;

/// An API key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "ci", "scopes": ["deploy", "read"], "expires_at": null }))]
pub struct NewApiKey {
    /// Its name.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub name: Member,
    /// What it may be used for: one or more of `deploy`, `read`, `apps`.
    #[serde(default)]
    #[schema(value_type = Vec<Scope>, required = true, min_items = 1)]
    pub scopes: Member,
    /// An ISO 8601 time to come at which it ends; never when null or absent.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Member,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
    #[serde(default, rename = "stepUp")]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// What is to change of an API key; at least one of them.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "ci of the app", "scopes": ["deploy"] }))]
pub struct ApiKeyPatch {
    /// Its name.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    pub name: Member,
    /// What it may be used for: one or more of `deploy`, `read`, `apps`.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Scope>>, min_items = 1)]
    pub scopes: Member,
    /// An ISO 8601 time to come at which it ends, or null: never.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Nullable,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
    #[serde(default, rename = "stepUp")]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// An API key. It has no `Debug`, since it may hold the raw key.
#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct ApiKeyOut {
    /// Its id, by which paths name it.
    pub id: ApiKeyId,
    /// Its name.
    pub name: String,
    /// Its public half, by which it can be recognised.
    pub key_prefix: String,
    /// Its raw form; in the answer to its creation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub key: Option<String>,
    /// What it may be used for.
    #[schema(value_type = Vec<Scope>)]
    pub scopes: Vec<&'static str>,
    /// When it ends, in ISO 8601; null: never.
    #[schema(format = DateTime, required = true)]
    pub expires_at: Option<String>,
    /// When it was revoked.
    #[schema(required = true)]
    pub revoked_at: Option<UnixMillis>,
    /// When it was last used, to within five minutes.
    #[schema(required = true)]
    pub last_used_at: Option<UnixMillis>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When its owner last changed it.
    pub updated_at: UnixMillis,
}

impl ApiKeyOut {
    fn new(of: ApiKey, key: Option<String>) -> AppResult<Self> {
        Ok(Self {
            scopes: of.scopes()?.names(),
            id: of.id,
            name: of.name,
            key_prefix: of.key_prefix,
            key,
            expires_at: of.expires_time.map(UnixMillis::iso8601),
            revoked_at: of.revoked_time,
            last_used_at: of.last_used_time,
            created_at: of.created_time,
            updated_at: of.updated_time,
        })
    }
}

/// API keys, oldest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeysAnswer {
    api_keys: Vec<ApiKeyOut>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_api_keys, create_api_key)).routes(routes!(update_api_key, revoke_api_key))
}

/// List the account's API keys, revoked ones included, oldest first.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "api-keys",
    security(("bearer" = ["not an API key"])),
    responses((status = 200, body = ApiKeysAnswer))
)]
pub async fn list_api_keys(State(app): State<AppState>, caller: NotApiKey) -> AppResult<Json<ApiKeysAnswer>> {
    let keys = repo::list(&mut app.db.read().await?, caller.account()).await?;
    let api_keys = keys.into_iter().map(|key| ApiKeyOut::new(key, None)).collect::<AppResult<_>>()?;
    Ok(Json(ApiKeysAnswer { api_keys }))
}

/// Create an API key. The answer shows its raw form, which is never shown again. The session must be fresh: `reauth_required`.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "api-keys",
    security(("bearer" = ["dashboard session"])),
    request_body = NewApiKey,
    responses((status = 201, body = ApiKeyOut))
)]
pub async fn create_api_key(
    State(app): State<AppState>,
    caller: DashboardSessionAlone,
    right: NewCredentials,
    from: ClientAddress,
    body: AppResult<Json<NewApiKey>>,
) -> AppResult<impl IntoResponse> {
    let (Json(new), fresh) = fresh::admit(&app, &caller, body, |Json(new)| Proof::of(&new.step_up).ok().flatten()).await?;
    let (key, token) = service::create(&app, &caller, right, fresh, from, &new).await?;
    let location = format!("/v1/api-keys/{}", key.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(ApiKeyOut::new(key, Some(token.reveal().to_owned()))?)))
}

/// Change an API key's name, scopes or expiry. One that is revoked stays as it is. For more scopes or a later expiry the session must be fresh.
#[utoipa::path(
    patch,
    path = "/v1/api-keys/{key}",
    tag = "api-keys",
    security(("bearer" = ["dashboard session"])),
    request_body = ApiKeyPatch,
    responses((status = 200, body = ApiKeyOut), (status = 409))
)]
pub async fn update_api_key(
    State(app): State<AppState>,
    caller: DashboardSession,
    from: ClientAddress,
    KeyPath(id): KeyPath,
    Json(patch): Json<ApiKeyPatch>,
) -> AppResult<Json<ApiKeyOut>> {
    let key = service::update(&app, &caller, from, &id, &patch).await?;
    Ok(Json(ApiKeyOut::new(key, None)?))
}

/// Revoke an API key: it can no longer be used, and stays in the list. Revoking it again is no error.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{key}",
    tag = "api-keys",
    security(("bearer" = ["login session"])),
    responses((status = 204))
)]
pub async fn revoke_api_key(
    State(app): State<AppState>,
    caller: LoginSession,
    from: ClientAddress,
    KeyPath(id): KeyPath,
) -> AppResult<StatusCode> {
    service::revoke(&app, &caller, from, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
