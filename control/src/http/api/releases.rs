//! The operations on releases.

use std::collections::BTreeMap;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use shared::hash::PackageHash;
use shared::keys::Label;
use shared::time::UnixMillis;
use utoipa::ToSchema;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::{promotions, rollbacks};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageReleases, ReadApp};
use crate::domain::audit::Actor;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult};
use crate::domain::releases::UploadAllowance;
use crate::domain::releases::{change, listing, service, upload};
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, LabelPath, encode_segment};

/// A release (the specification's object `package`).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Release)]
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
    #[schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$")]
    pub label: Label,
    /// A signed address of the file manifest; null for a single-file package.
    pub manifest_blob_url: Option<String>,
    /// The deployment it was promoted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$")]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    pub package_hash: PackageHash,
    /// The address of the account that made it.
    pub released_by: String,
    /// Upload, Promote or Rollback.
    #[schema(value_type = ReleaseMethod)]
    pub release_method: String,
    /// 1-99 for a staged rollout, null for everybody.
    #[schema(minimum = 1, maximum = 99)]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was made.
    pub upload_time: UnixMillis,
}

/// How a release came to be. It is for the document only: the database keeps the names.
#[derive(ToSchema)]
#[expect(dead_code, reason = "no value is made of what only describes")]
pub(crate) enum ReleaseMethod {
    /// From bytes.
    Upload,
    /// From a release of another deployment.
    Promote,
    /// From an earlier release of the same deployment.
    Rollback,
}

/// The parts of an upload, in any order. It is for the document only: the parts are read as they come in.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "no value is made of what only describes")]
struct ReleaseUpload {
    /// The bundle: a zip, or any other single file.
    #[schema(value_type = String, format = Binary)]
    package: Vec<u8>,
    /// What the upload says of itself: a JSON text.
    package_info: NewRelease,
}

/// `packageInfo` of an upload.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", example = json!({ "appVersion": "^1.0.0", "description": "what is new" }))]
#[expect(dead_code, reason = "no value is made of what only describes")]
struct NewRelease {
    /// The binary versions it is for: a version or a range as npm understands it.
    #[schema(min_length = 1, max_length = 255)]
    app_version: String,
    /// Release notes; the length is counted in UTF-16 code units.
    #[schema(max_length = 10000)]
    description: Option<String>,
    /// Whether clients must take it.
    is_mandatory: Option<bool>,
    /// Whether it is offered to nobody.
    is_disabled: Option<bool>,
    /// The percentage of clients that it is offered to; 100 and null are everybody.
    #[schema(minimum = 1, maximum = 100)]
    rollout: Option<i32>,
}

/// A diff to a release.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Diff)]
pub struct DiffOut {
    /// A signed address of the diff.
    pub url: String,
    /// Its size in bytes.
    pub size: i64,
}

/// One release.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReleaseAnswer {
    pub(crate) package: ReleaseOut,
}

/// Releases, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryAnswer {
    history: Vec<ReleaseOut>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        // The upload counts its own bytes while it streams them to disk; the framework's limit is for bodies held in memory.
        .routes(routes!(create_release).layer(DefaultBodyLimit::disable()))
        .routes(routes!(get_release))
        .routes(routes!(get_history))
        .merge(listing::routes())
        .merge(change::routes())
        .merge(promotions::routes())
        .merge(rollbacks::routes())
}

/// Upload a release: multipart with the parts `package` (the bundle) and `packageInfo` (JSON), in any order.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/releases",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    request_body(content = ReleaseUpload, content_type = "multipart/form-data"),
    responses(
        (status = 201, body = ReleaseAnswer),
        (
            status = 409,
            description = "the newest release is in an unfinished rollout, or the current release for these versions has the same contents; the deployment \
                has no room for another release, range of versions or description, or the owner's quota of stored bytes for another bundle"
        ),
    )
)]
pub async fn create_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    actor: Actor,
    allowance: UploadAllowance,
    DeploymentPath(deployment): DeploymentPath,
    request: Request,
) -> AppResult<impl IntoResponse> {
    let received = upload::receive(&app, &grant, &deployment, request).await?;
    let committing = {
        let (app, grant, deployment) = (app.clone(), grant.clone(), deployment.clone());
        async move {
            let stored = upload::store_and_commit(&app, &grant, &actor, &deployment, received).await;
            // The file is gone only now, whoever still waits.
            drop(allowance);
            let (deployment_id, row) = stored?;
            app.publisher.wake();
            tracing::info!(
                deployment.id = deployment_id.as_str(),
                release.label = row.label,
                release.size = row.size,
                "a release was uploaded"
            );
            Ok::<_, AppError>(row)
        }
    };
    // All of it or nothing, even if the client goes away now.
    let row = app.work.run(committing).await?;
    let package = service::out(grant.app(), &[], row, &app.download_urls())?;
    Ok(created(&grant, &deployment, package))
}

/// The answer to whatever makes a release.
pub(crate) fn created(grant: &AppGrant<ManageReleases>, deployment: &str, package: ReleaseOut) -> impl IntoResponse + use<> {
    let (app_name, deployment_name) = (encode_segment(grant.called()), encode_segment(deployment));
    let location = format!("/v1/apps/{app_name}/deployments/{deployment_name}/releases/{}", package.label);
    (StatusCode::CREATED, [(header::LOCATION, location)], Json(ReleaseAnswer { package }))
}

/// Read a release.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/releases/{label}",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = ReleaseAnswer))
)]
pub async fn get_release(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
) -> AppResult<Json<ReleaseAnswer>> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &deployment).await?;
    Ok(Json(ReleaseAnswer { package: service::find(&mut tx, grant.app(), &deployment.id, label, &app.download_urls()).await? }))
}

/// Read a deployment's releases, oldest first.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/history",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = HistoryAnswer))
)]
pub async fn get_history(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
) -> AppResult<Json<HistoryAnswer>> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &deployment).await?;
    Ok(Json(HistoryAnswer { history: service::history(&mut tx, grant.app(), &deployment.id, &app.download_urls()).await? }))
}
