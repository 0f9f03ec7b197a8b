//! Deployments and their metrics.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::deployments as sent;
use shared::ids::AppId;
use shared::keys::Name;
use shared::wire::check::DownloadUrls;

use super::shape::{CreatedDeployment, Deployment, Deployments, Metrics, NewDeployment, OneDeployment, Package};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageDeployments, ReadApp, ReadMetrics};
use crate::domain::counting::counters;
use crate::domain::deployments::service;
use crate::domain::error::Result;
use crate::domain::releases::current::{self, Current};
use crate::http::AppState;
use crate::http::extract::bodies::new_deployment;
use crate::http::extract::{DeploymentPath, Json, encode_segment};
use crate::http::present;

/// A deployment as clients read it.
fn shown(app: &AppId, (deployment, newest): Current, urls: &DownloadUrls<'_>) -> Result<Deployment> {
    Ok(Deployment {
        id: deployment.id,
        name: deployment.name,
        key: present::deployment_key(deployment.key),
        created_time: deployment.created_time,
        package: newest.map(|release| present::release(app, release, urls)).transpose()?.map(Package::from),
    })
}

/// The app's deployments.
pub(super) async fn list(State(app): State<AppState>, grant: AppGrant<ReadApp>) -> Result<Json<Deployments>> {
    let found = current::list(&mut app.db.read().await?, &grant).await?;
    let urls = app.download_urls();
    Ok(Json(Deployments { deployments: found.into_iter().map(|one| shown(grant.app(), one, &urls)).collect::<Result<_>>()? }))
}

/// Creates a deployment, with a key of the caller's or a new one.
pub(super) async fn create(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    Json(new): Json<sent::NewDeployment>,
) -> Result<impl IntoResponse> {
    let created = service::create(&app, &grant, new_deployment(new)?).await?;
    let location = format!("/apps/{}/deployments/{}", encode_segment(grant.called()), encode_segment(&created.name));
    let deployment = NewDeployment { name: created.name, key: present::deployment_key(created.key) };
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(CreatedDeployment { deployment })))
}

/// One deployment.
pub(super) async fn show(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(name): DeploymentPath,
) -> Result<Json<OneDeployment>> {
    let found = current::get(&mut app.db.read().await?, &grant, &name).await?;
    Ok(Json(OneDeployment { deployment: shown(grant.app(), found, &app.download_urls())? }))
}

/// Renames a deployment.
pub(super) async fn rename(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    DeploymentPath(name): DeploymentPath,
    Json(patch): Json<sent::DeploymentPatch>,
) -> Result<Json<OneDeployment>> {
    let new_name = patch.name.parse::<Name>().map_err(|error| FieldErrors::of("name", error))?;
    let renamed = current::rename(&app, &grant, &name, &new_name).await?;
    Ok(Json(OneDeployment { deployment: shown(grant.app(), renamed, &app.download_urls())? }))
}

/// Deletes a deployment.
pub(super) async fn remove(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    DeploymentPath(name): DeploymentPath,
) -> Result<StatusCode> {
    current::delete(&app, &grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Clears a deployment's history.
pub(super) async fn clear(
    State(app): State<AppState>,
    grant: AppGrant<ManageDeployments>,
    DeploymentPath(name): DeploymentPath,
) -> Result<StatusCode> {
    current::clear(&app, &grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A deployment's counts by label and binary version.
pub(super) async fn metrics(
    State(app): State<AppState>,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
) -> Result<Json<Metrics>> {
    let rows = counters::list(&mut app.db.read().await?, &grant, &name).await?;
    Ok(Json(Metrics { metrics: present::counts(rows) }))
}
