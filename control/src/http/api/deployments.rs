//! The operations on deployments.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use shared::ids::DeploymentId;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp, ReadDeploymentKeys};
use crate::domain::audit::Actor;
use crate::domain::deployments::service;
use crate::domain::error::AppResult;
use crate::http::AppState;
use crate::http::api::releases::ReleaseOut;
use crate::http::extract::{DeploymentPath, Json, Member, encode_segment};

/// A deployment to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "Beta" }))]
pub struct NewDeployment {
    /// A text: its name, unique within the app.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub name: Member,
    /// A text: the key that installed clients already have, when they come from another service.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^[A-Za-z0-9_-]{10,100}$")]
    pub key: Member,
}

/// What is to change of a deployment.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({ "name": "Beta" }))]
pub struct DeploymentPatch {
    /// A text: its new name, unique within the app.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub name: Member,
}

/// A deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Deployment)]
pub struct DeploymentOut {
    /// Its id.
    pub id: DeploymentId,
    /// Its name.
    pub name: String,
    /// Its key, or `(hidden)` for callers without deploymentKeys.read.
    pub key: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Its newest release.
    pub package: Option<ReleaseOut>,
}

/// One deployment.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeploymentAnswer {
    deployment: DeploymentOut,
}

/// Deployments by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeploymentsAnswer {
    deployments: Vec<DeploymentOut>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_deployments, create_deployment))
        .routes(routes!(get_deployment, rename_deployment, delete_deployment))
        .routes(routes!(clear_history))
}

/// List an app's deployments.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments",
    tag = "deployments",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = DeploymentsAnswer))
)]
pub async fn list_deployments(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> AppResult<Json<DeploymentsAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(DeploymentsAnswer { deployments: service::list(&mut tx, &grant, &app.download_urls()).await? }))
}

/// Create a deployment of an app.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments",
    tag = "deployments",
    security(("bearer" = ["deployments.manage"])),
    request_body = NewDeployment,
    responses((status = 201, body = DeploymentAnswer), (status = 409))
)]
pub async fn create_deployment(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    actor: Actor,
    Json(new): Json<NewDeployment>,
) -> AppResult<impl IntoResponse> {
    let mut tx = grant.begin_tx(&app).await?;
    let row = service::create(&mut tx, &app, &grant, &actor, &new).await?;
    tx.commit().await?;
    let deployment = service::shown(row, None, grant.also::<ReadDeploymentKeys>());
    app.publisher.wake();
    let location = format!("/v1/apps/{}/deployments/{}", encode_segment(grant.called()), encode_segment(&deployment.name));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(DeploymentAnswer { deployment })))
}

/// Read a deployment.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}",
    tag = "deployments",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = DeploymentAnswer))
)]
pub async fn get_deployment(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(name): DeploymentPath,
) -> AppResult<Json<DeploymentAnswer>> {
    let mut tx = app.db.read().await?;
    let row = service::find(&mut tx, grant.app(), &name).await?;
    let deployment = service::out(&mut tx, row, grant.also::<ReadDeploymentKeys>(), &app.download_urls()).await?;
    Ok(Json(DeploymentAnswer { deployment }))
}

/// Rename a deployment. Its clients notice nothing: they know its key.
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}/deployments/{deployment}",
    tag = "deployments",
    security(("bearer" = ["deployments.manage"])),
    request_body = DeploymentPatch,
    responses((status = 200, body = DeploymentAnswer), (status = 409))
)]
pub async fn rename_deployment(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    actor: Actor,
    DeploymentPath(name): DeploymentPath,
    Json(patch): Json<DeploymentPatch>,
) -> AppResult<Json<DeploymentAnswer>> {
    let mut tx = grant.begin_tx(&app).await?;
    let row = service::rename(&mut tx, &grant, &actor, &name, &patch, &app.dice, app.now()).await?;
    let deployment = service::out(&mut tx, row, grant.also::<ReadDeploymentKeys>(), &app.download_urls()).await?;
    tx.commit().await?;
    Ok(Json(DeploymentAnswer { deployment }))
}

/// Delete a deployment with its releases. Its key answers 404 from then on; only the app's owner can use it again, for a new deployment.
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}/deployments/{deployment}",
    tag = "deployments",
    security(("bearer" = ["deployments.manage"])),
    responses((status = 204))
)]
pub async fn delete_deployment(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    actor: Actor,
    DeploymentPath(name): DeploymentPath,
) -> AppResult<StatusCode> {
    let mut tx = grant.begin_tx(&app).await?;
    service::delete(&mut tx, &grant, &actor, &name, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.publisher.wake();
    Ok(StatusCode::NO_CONTENT)
}

/// Clear a deployment's release history: its releases and its counts go. Labels are never used again: the next release has the next one.
#[utoipa::path(
    delete,
    path = "/v1/apps/{app}/deployments/{deployment}/history",
    tag = "releases",
    security(("bearer" = ["deployments.manage"])),
    responses((status = 204))
)]
pub async fn clear_history(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    actor: Actor,
    DeploymentPath(name): DeploymentPath,
) -> AppResult<StatusCode> {
    let mut tx = grant.begin_tx(&app).await?;
    service::clear(&mut tx, &grant, &actor, &name, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.publisher.wake();
    Ok(StatusCode::NO_CONTENT)
}
