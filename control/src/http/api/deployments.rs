//! Deployment endpoints.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::deployments::{Deployment, DeploymentAnswer, DeploymentPatch, DeploymentsAnswer, NewDeployment};
use shared::ids::AppId;
use shared::keys::Name;
use shared::wire::check::DownloadUrls;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp};
use crate::domain::deployments::service;
use crate::domain::error::Result;
use crate::domain::releases::current::{self, Current};
use crate::http::AppState;
use crate::http::extract::bodies::new_deployment;
use crate::http::extract::{DeploymentPath, Json, encode_segment};
use crate::http::present;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_deployments, create_deployment))
        .routes(routes!(get_deployment, rename_deployment, delete_deployment))
        .routes(routes!(clear_history))
}

/// List deployments.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments",
    tag = "deployments",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = DeploymentsAnswer))
)]
pub async fn list_deployments(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<DeploymentsAnswer>> {
    let deployments = current::list(&mut app.db.read().await?, &grant).await?;
    let urls = app.download_urls();
    let deployments = deployments.into_iter().map(|deployment| shown(grant.app(), deployment, &urls)).collect::<Result<_>>()?;
    Ok(Json(DeploymentsAnswer { deployments }))
}

/// A deployment in its wire form.
fn shown(app: &AppId, (deployment, newest): Current, urls: &DownloadUrls<'_>) -> Result<Deployment> {
    Ok(Deployment {
        id: deployment.id,
        name: deployment.name,
        key: present::deployment_key(deployment.key),
        created_time: deployment.created_time,
        package: newest.map(|release| present::release(app, release, urls)).transpose()?,
    })
}

/// Create a deployment.
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
    Json(new): Json<NewDeployment>,
) -> Result<impl IntoResponse> {
    let created = service::create(&app, &grant, new_deployment(new)?).await?;
    let deployment = shown(grant.app(), (created, None), &app.download_urls())?;
    let location = format!("/v1/apps/{}/deployments/{}", encode_segment(grant.called()), encode_segment(&deployment.name));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(DeploymentAnswer { deployment })))
}

/// Get a deployment.
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
) -> Result<Json<DeploymentAnswer>> {
    let found = current::get(&mut app.db.read().await?, &grant, &name).await?;
    Ok(Json(DeploymentAnswer { deployment: shown(grant.app(), found, &app.download_urls())? }))
}

/// Rename a deployment.
///
/// Devices are not affected: they use the deployment key.
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
    DeploymentPath(name): DeploymentPath,
    Json(patch): Json<DeploymentPatch>,
) -> Result<Json<DeploymentAnswer>> {
    let new_name = patch.name.parse::<Name>().map_err(|error| FieldErrors::of("name", error))?;
    let renamed = current::rename(&app, &grant, &name, &new_name).await?;
    Ok(Json(DeploymentAnswer { deployment: shown(grant.app(), renamed, &app.download_urls())? }))
}

/// Delete a deployment.
///
/// Also deletes its releases. Update checks with its key then get 404. Only the app's owner can use the key again, for a new deployment.
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
    DeploymentPath(name): DeploymentPath,
) -> Result<StatusCode> {
    current::delete(&app, &grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Clear a deployment's release history.
///
/// Deletes its releases and metrics. Labels are never reused: numbering continues with the next release.
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
    DeploymentPath(name): DeploymentPath,
) -> Result<StatusCode> {
    current::clear(&app, &grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
