//! The operations on apps.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use shared::ids::AppId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::grant::{ManageApp, OwnApp, ReadApp};
use crate::domain::access::{AppCreator, AppGrant, SignedIn};
use crate::domain::apps::{service, transfer};
use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::error::AppResult;
use crate::domain::login::fresh;
use crate::http::AppState;
use crate::http::api::second_factors::FactorChange;
use crate::http::extract::{EmailPath, Json, Member, encode_segment};

/// An app to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "name": "demo" }))]
pub struct NewApp {
    /// A text: its name, unique per owner.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub name: Member,
    /// `true`: no deployments are made with it.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub manually_provision_deployments: Member,
}

/// What is to change of an app.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "demo" }))]
pub struct AppPatch {
    /// A text: its new name, unique per owner.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub name: Member,
}

/// An app.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = App)]
pub struct AppOut {
    /// Its id; inside only.
    #[serde(skip)]
    pub id: AppId,
    /// Its name as the caller may use it.
    pub name: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Its deployments' names, in order.
    pub deployments: Vec<String>,
    /// Its collaborators by address.
    pub collaborators: BTreeMap<String, CollaboratorOut>,
}

/// A collaborator of an app.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AppCollaborator)]
pub struct CollaboratorOut {
    /// The role.
    pub permission: String,
    /// Present and true for the caller.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_current_account: bool,
}

/// One app.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppAnswer {
    /// The app.
    pub app: AppOut,
}

/// Apps by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppsAnswer {
    apps: Vec<AppOut>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_apps, create_app))
        .routes(routes!(get_app, rename_app, delete_app))
        .routes(routes!(transfer_app))
}

/// List the apps that the caller can reach. An app that the caller has not accepted is listed as `owner@example.com:name`.
#[utoipa::path(
    get,
    path = "/v1/apps",
    tag = "apps",
    security(("bearer" = [])),
    responses((status = 200, body = AppsAnswer))
)]
pub async fn list_apps(State(app): State<AppState>, caller: SignedIn) -> AppResult<Json<AppsAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(AppsAnswer { apps: service::list(&mut tx, &caller).await? }))
}

/// Create an app; it gets the deployments Production and Staging unless told not to. What others share by the same name is no obstacle: the bare name
/// means the caller's own app.
#[utoipa::path(
    post,
    path = "/v1/apps",
    tag = "apps",
    security(("bearer" = ["apps.create"])),
    request_body = NewApp,
    responses((status = 201, body = AppAnswer), (status = 409))
)]
pub async fn create_app(
    State(app): State<AppState>,
    caller: AppCreator,
    actor: Actor,
    Json(new): Json<NewApp>,
) -> AppResult<impl IntoResponse> {
    let mut tx = caller.begin(&app).await?;
    let created = service::create(&mut tx, &app, &caller, &actor, &new).await?;
    tx.commit().await?;
    app.publisher.wake();
    Ok((StatusCode::CREATED, [(header::LOCATION, location(&created))], Json(AppAnswer { app: created })))
}

/// The path by which the caller reaches an app.
fn location(app: &AppOut) -> String {
    format!("/v1/apps/{}", encode_segment(&app.name))
}

/// Read an app.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = AppAnswer))
)]
pub async fn get_app(State(app): State<AppState>, caller: SignedIn, grant: AppGrant<ReadApp>) -> AppResult<Json<AppAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(AppAnswer { app: service::find(&mut tx, &caller, grant.app()).await? }))
}

/// Rename an app. A collaborator who has used the new name for another app reaches this one as `owner@example.com:name` until it is accepted again. Only the
/// owner can give it a name that the owner has used for another app.
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["apps.manage"])),
    request_body = AppPatch,
    responses((status = 200, body = AppAnswer), (status = 409))
)]
pub async fn rename_app(
    State(app): State<AppState>,
    caller: SignedIn,
    grant: AppGrant<ManageApp>,
    actor: Actor,
    Json(patch): Json<AppPatch>,
) -> AppResult<Json<AppAnswer>> {
    let mut tx = grant.begin(&app).await?;
    service::rename(&mut tx, &app, &grant, &actor, &patch).await?;
    let renamed = service::find(&mut tx, &caller, grant.app()).await?;
    tx.commit().await?;
    Ok(Json(AppAnswer { app: renamed }))
}

/// Delete an app with its deployments and releases. Its keys answer 404 from then on, and stay its owner's. Only the owner may, and no API key.
///
/// A dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}",
    tag = "apps",
    security(("bearer" = ["apps.own"])),
    request_body = Option<FactorChange>,
    responses((status = 204))
)]
pub async fn delete_app(
    State(app): State<AppState>,
    caller: SignedIn,
    grant: AppGrant<OwnApp>,
    actor: Actor,
    from: ClientAddress,
    body: AppResult<Option<Json<FactorChange>>>,
) -> AppResult<StatusCode> {
    let (change, fresh) = fresh::admit(&app, &caller, from, body.map(FactorChange::of), |change| &change.step_up).await?;
    change.proof()?;
    let mut tx = grant.begin(&app).await?;
    service::delete(&mut tx, &grant, fresh, &actor, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.publisher.wake();
    Ok(StatusCode::NO_CONTENT)
}

/// Transfer an app to another account, which has the rights of the owner at once. The owner so far becomes an Admin; both are told by mail. Only the owner
/// may, and no API key. Each attempt counts against the limit of the caller's account.
///
/// Until the receiver accepts the app, it stays in the sender's account: its name, the keys of its deployments, and what it counts for. If the receiver
/// leaves it or deletes the account, the sender is the owner again.
///
/// A dashboard session must be fresh, or send a `stepUp` proof: `reauth_required`.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/transfer/{email}",
    tag = "apps",
    security(("bearer" = ["apps.own"])),
    request_body = Option<FactorChange>,
    responses((status = 201, body = AppAnswer), (status = 409))
)]
pub async fn transfer_app(
    State(app): State<AppState>,
    caller: SignedIn,
    grant: AppGrant<OwnApp>,
    from: ClientAddress,
    EmailPath(email): EmailPath,
    body: AppResult<Option<Json<FactorChange>>>,
) -> AppResult<impl IntoResponse> {
    let (change, fresh) = fresh::admit(&app, &caller, from, body.map(FactorChange::of), |change| &change.step_up).await?;
    change.proof()?;
    let transferred = transfer::transfer(&app, &grant, fresh, &caller, from, &email).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location(&transferred))], Json(AppAnswer { app: transferred })))
}
