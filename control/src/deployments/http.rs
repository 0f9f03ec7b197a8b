//! The operations on deployments.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use serde::{Deserialize, Serialize};
use shared::ids::DeploymentId;
use shared::time::UnixMillis;

use super::service;
use crate::app::AppState;
use crate::auth::AppGrant;
use crate::auth::grant::{ManageDeployments, ReadApp, ReadDeploymentKeys};
use crate::error::AppResult;
use crate::releases::http::ReleaseOut;
use crate::web::{DeploymentPath, Json, Member, encode_segment};

/// A deployment to be made.
#[derive(Debug, Deserialize)]
pub struct NewDeployment {
    /// A text: its name, unique within the app.
    #[serde(default)]
    pub name: Member,
    /// A text: the key that installed clients already have, when they come from another service.
    #[serde(default)]
    pub key: Member,
}

/// A deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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
#[derive(Debug, Serialize)]
pub struct DeploymentAnswer {
    deployment: DeploymentOut,
}

/// Deployments by name.
#[derive(Debug, Serialize)]
pub struct DeploymentsAnswer {
    deployments: Vec<DeploymentOut>,
}

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/v1/apps/{app}/deployments", get(list_deployments).post(create_deployment))
        .route("/v1/apps/{app}/deployments/{deployment}", get(get_deployment))
}

/// List an app's deployments.
pub async fn list_deployments(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> AppResult<Json<DeploymentsAnswer>> {
    let mut tx = app.db.read().await?;
    Ok(Json(DeploymentsAnswer { deployments: service::list(&mut tx, &grant, &app.download_urls()).await? }))
}

/// Create a deployment of an app.
pub async fn create_deployment(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    Json(new): Json<NewDeployment>,
) -> AppResult<impl IntoResponse> {
    let mut tx = app.db.write().await?;
    let row = service::create(&mut tx, &grant, &new, &app.dice, app.now()).await?;
    let deployment = service::out(&mut tx, row, grant.also::<ReadDeploymentKeys>(), &app.download_urls()).await?;
    tx.commit().await?;
    app.publisher.wake();
    let location = format!("/v1/apps/{}/deployments/{}", encode_segment(grant.called()), encode_segment(&deployment.name));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(DeploymentAnswer { deployment })))
}

/// Read a deployment.
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
