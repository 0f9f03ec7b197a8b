//! The operations on releases.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde::Serialize;
use shared::hash::PackageHash;
use shared::keys::Label;
use shared::time::UnixMillis;

use super::{service, upload};
use crate::app::AppState;
use crate::auth::AppGrant;
use crate::auth::grant::{ManageReleases, ReadApp};
use crate::deployments::service as deployments;
use crate::error::AppResult;
use crate::web::{DeploymentPath, Json, encode_segment};

/// A release (the specification's object `package`).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseOut {
    /// The binary versions it is for, as given.
    pub app_version: String,
    /// A signed address of the bundle.
    pub blob_url: String,
    /// Release notes.
    pub description: Option<String>,
    /// Diffs by the package hash that they start from.
    pub diff_package_map: BTreeMap<String, DiffOut>,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Its label.
    pub label: Label,
    /// A signed address of the file manifest; null for a single-file package.
    pub manifest_blob_url: Option<String>,
    /// The deployment it was promoted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    pub package_hash: PackageHash,
    /// The address of the account that made it.
    pub released_by: String,
    /// Upload, Promote or Rollback.
    pub release_method: String,
    /// 1-99 for a staged rollout, null for everybody.
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was made.
    pub upload_time: UnixMillis,
}

/// A diff to a release.
#[derive(Debug, Serialize)]
pub struct DiffOut {
    /// A signed address of the diff.
    pub url: String,
    /// Its size in bytes.
    pub size: i64,
}

/// One release.
#[derive(Debug, Serialize)]
pub struct ReleaseAnswer {
    package: ReleaseOut,
}

/// Releases, oldest first.
#[derive(Debug, Serialize)]
pub struct HistoryAnswer {
    history: Vec<ReleaseOut>,
}

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    Router::new()
        // The upload counts its own bytes while it streams them to disk; the framework's limit is for bodies held in memory.
        .route("/v1/apps/{app}/deployments/{deployment}/releases", post(create_release).layer(DefaultBodyLimit::disable()))
        .route("/v1/apps/{app}/deployments/{deployment}/history", get(get_history))
}

/// Upload a release: multipart with the parts `package` (the bundle) and `packageInfo` (JSON), in any order.
pub async fn create_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    request: Request,
) -> AppResult<impl IntoResponse> {
    let received = upload::receive(&app, &grant, &deployment, request).await?;
    let committing = {
        let (app, grant, deployment) = (app.clone(), grant.clone(), deployment.clone());
        async move {
            let (deployment_id, row) = upload::store_and_commit(&app, &grant, &deployment, received).await?;
            app.publisher.wake();
            tracing::info!(
                deployment.id = deployment_id.as_str(),
                release.label = row.label,
                release.size = row.size,
                "a release was uploaded"
            );
            Ok(row)
        }
    };
    // All of it or nothing, even if the client goes away now.
    let row = app.work.run(committing).await?;
    let package = service::out(grant.app(), &[], row, &app.download_urls())?;
    let (app_name, deployment_name) = (encode_segment(grant.called()), encode_segment(&deployment));
    let location = format!("/v1/apps/{app_name}/deployments/{deployment_name}/releases/{}", package.label);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(ReleaseAnswer { package })))
}

/// Read a deployment's releases, oldest first.
pub async fn get_history(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
) -> AppResult<Json<HistoryAnswer>> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &deployment).await?;
    Ok(Json(HistoryAnswer { history: service::history(&mut tx, grant.app(), &deployment.id, &app.download_urls()).await? }))
}
