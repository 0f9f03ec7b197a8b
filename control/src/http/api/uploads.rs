//! Upload endpoint.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::IntoResponse;
use shared::api::releases::{NewRelease, ReleaseAnswer};
use utoipa::ToSchema;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use super::releases::{IdempotencyHeader, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::Result;
use crate::domain::releases::UploadAllowance;
use crate::domain::releases::upload;
use crate::http::AppState;
use crate::http::extract::upload::receive;
use crate::http::extract::{DeploymentPath, MaybeIdempotent};

/// The parts of an upload, in any order. For the OpenAPI document only: the parts are read as a stream.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes; never constructed")]
struct ReleaseUpload {
    /// The bundle: a ZIP archive, or any other single file.
    #[schema(value_type = String, format = Binary)]
    package: Vec<u8>,
    /// The release's metadata as JSON text.
    package_info: NewRelease,
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    // The upload limits its bytes while it streams them to disk. The framework's limit is for bodies in memory.
    OpenApiRouter::new().routes(routes!(create_release).layer(DefaultBodyLimit::disable()))
}

/// Upload a release.
///
/// Send a multipart body with the parts `package` (the bundle) and `packageInfo` (JSON), in any order.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/releases",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    params(IdempotencyHeader),
    request_body(content = ReleaseUpload, content_type = "multipart/form-data"),
    responses(
        (
            status = 201,
            body = ReleaseAnswer,
            headers(("Idempotent-Replayed" = bool, description = "`true`: an earlier request with this key got this answer, and this one changed nothing"))
        ),
        (
            status = 409,
            description = "The newest release is in an unfinished rollout, or the current release for this `appVersion` has the same contents; or the \
                deployment has reached its limit of releases, version ranges or size, or its owner the storage quota; or the \
                `Idempotency-Key` was used for another request"
        ),
    )
)]
pub async fn create_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    allowance: UploadAllowance,
    DeploymentPath(deployment): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
    request: Request,
) -> Result<impl IntoResponse> {
    let received = receive(&app, &grant, &deployment, key, request).await?;
    let release = upload::release(Arc::clone(&app.context), grant.clone(), allowance, deployment.clone(), received);
    // All or nothing, even if the client disconnects now.
    let answer = app.work.run(release).await?;
    created(&app, &grant, &deployment, answer)
}
