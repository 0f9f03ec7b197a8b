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

use super::service;
use crate::app::AppState;
use crate::audit::Actor;
use crate::auth::AppGrant;
use crate::auth::grant::{ManageDeployments, ReadApp, ReadDeploymentKeys};
use crate::error::AppResult;
use crate::releases::http::ReleaseOut;
use crate::web::{DeploymentPath, Json, Member, encode_segment};

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
    OpenApiRouter::new().routes(routes!(list_deployments, create_deployment)).routes(routes!(get_deployment))
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
    let mut tx = grant.begin(&app).await?;
    let row = service::create(&mut tx, &grant, &actor, &new, &app.dice, app.now()).await?;
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
