//! The operations on access keys. Paths name one by its `friendlyName`; its raw form is in the answer to its creation only.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::{DashboardSession, LoginSession, NotApiKey};
use crate::domain::audit::ClientAddress;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::AppResult;
use crate::domain::keys::access_keys as service;
use crate::domain::login::fresh;
use crate::domain::second_factors::NewCredentials;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::extract::{Json, KeyPath, Member, encode_segment};
use shared::api::second_factors::StepUpProof;

/// An access key to be made. A member `createdBy`, which old clients send, is ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "friendlyName": "laptop", "ttl": 86_400_000 }))]
pub struct NewAccessKey {
    /// Must be absent: the raw key is made by the server.
    #[serde(default)]
    #[schema(ignore)]
    pub name: Member,
    /// Its name, unique within the account. Not `.` or `..`.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub friendly_name: Member,
    /// Says nothing: a key's description is its name.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub description: Member,
    /// How long it is valid, in milliseconds; 60 days when absent.
    #[serde(default)]
    #[schema(value_type = Option<i64>, minimum = 1)]
    pub ttl: Member,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// What is to change of an access key; all as in its creation, `name` included, which is refused.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "friendlyName": "old laptop" }))]
pub struct AccessKeyPatch {
    /// Must be absent.
    #[serde(default)]
    #[schema(ignore)]
    pub name: Member,
    /// Its new name.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255)]
    pub friendly_name: Member,
    /// Says nothing.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub description: Member,
    /// How long it is valid from now on, in milliseconds. Of a session it cannot be changed.
    #[serde(default)]
    #[schema(value_type = Option<i64>, minimum = 1)]
    pub ttl: Member,
    /// A fresh proof of a second factor, for a dashboard session that is no longer fresh.
    #[serde(default)]
    #[schema(value_type = Option<StepUpProof>)]
    pub step_up: Member,
}

/// An access key or a session. It has no `Debug`, since it may hold the raw key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AccessKey)]
pub struct AccessKeyOut {
    /// The raw key in the answer to its creation, `(hidden)` in lists, absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub name: Option<String>,
    /// Its name, unique within the account.
    pub friendly_name: String,
    /// The same, for old clients.
    pub description: String,
    /// The address it was made from.
    pub created_by: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// When it ends at the latest.
    pub expires: UnixMillis,
    /// Whether it was made by a login, not for a command line and not by hand.
    pub is_session: bool,
    /// How its owner signed in; absent on named keys and on sessions from before origins were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = CredentialOrigin, required = false)]
    pub credential_origin: Option<&'static str>,
    /// The machine's id, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub device_id: Option<String>,
    /// The machine's name, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub device_name: Option<String>,
    /// The program, of a command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub client_name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub client_version: Option<String>,
    /// Its operating system and architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub client_platform: Option<String>,
}

/// How the owner of a session signed in. It is for the document only.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "no value is made of what only describes")]
enum CredentialOrigin {
    /// On the dashboard.
    DashboardSession,
    /// For a command line, through the browser.
    CliBrowser,
    /// For a command line, by a device code.
    CliDevice,
}

impl AccessKeyOut {
    fn new(of: Credential, name: Option<&str>) -> Self {
        Self {
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
}

/// One access key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessKeyAnswer {
    access_key: AccessKeyOut,
}

/// Access keys, oldest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessKeysAnswer {
    access_keys: Vec<AccessKeyOut>,
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
pub async fn list_access_keys(State(app): State<AppState>, caller: NotApiKey) -> AppResult<Json<AccessKeysAnswer>> {
    let keys = service::list(&mut app.db.read().await?, &app, &caller).await?;
    let access_keys = keys.into_iter().map(|key| AccessKeyOut::new(key, Some("(hidden)"))).collect();
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
    from: ClientAddress,
    body: AppResult<Json<NewAccessKey>>,
) -> AppResult<impl IntoResponse> {
    let (Json(new), fresh) = fresh::admit(&app, &caller, body, |Json(new)| Proof::of(&new.step_up).ok().flatten()).await?;
    let (key, token) = service::add(&app, &caller, right, fresh, from, &new).await?;
    let location = format!("/v1/access-keys/{}", encode_segment(&key.friendly_name));
    let answer = AccessKeyAnswer { access_key: AccessKeyOut::new(key, Some(token.reveal())) };
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
pub async fn get_access_key(State(app): State<AppState>, caller: LoginSession, KeyPath(name): KeyPath) -> AppResult<Json<AccessKeyAnswer>> {
    let key = service::find(&mut app.db.read().await?, &app, &caller, &name).await?;
    Ok(Json(AccessKeyAnswer { access_key: AccessKeyOut::new(key, None) }))
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
    from: ClientAddress,
    KeyPath(name): KeyPath,
    Json(patch): Json<AccessKeyPatch>,
) -> AppResult<Json<AccessKeyAnswer>> {
    let key = service::update(&app, &caller, from, &name, &patch).await?;
    Ok(Json(AccessKeyAnswer { access_key: AccessKeyOut::new(key, None) }))
}

/// Delete an access key, or end a session. An access key can delete access keys only, itself included.
#[utoipa::path(
    delete,
    path = "/v1/access-keys/{key}",
    tag = "access-keys",
    security(("bearer" = ["not an API key"])),
    responses((status = 204))
)]
pub async fn delete_access_key(
    State(app): State<AppState>,
    caller: NotApiKey,
    from: ClientAddress,
    KeyPath(name): KeyPath,
) -> AppResult<StatusCode> {
    service::remove(&app, &caller, from, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
