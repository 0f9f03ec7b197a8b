//! The operation that rolls a deployment back.

use axum::extract::State;
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::releases::{NewRollback, ReleaseAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::created;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::Result;
use crate::domain::releases::rollback;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(roll_back_release))
}

/// Roll back to an earlier release: a new one with its contents, enabled and for everybody. The body may be left out.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/rollbacks",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    request_body = Option<NewRollback>,
    responses(
        (status = 201, body = ReleaseAnswer),
        (status = 404, description = "there is no such app, deployment or release, or no release before the newest"),
        (status = 409, description = "the release is the current one, or it is for other binary versions than that one; the deployment has no room for another release, or for the range of versions of a disabled one"),
    )
)]
pub async fn roll_back_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    body: Option<Json<NewRollback>>,
) -> Result<impl IntoResponse> {
    let NewRollback { target_release } = body.map(|Json(new)| new).unwrap_or_default();
    let target = target_release.parse_optional().map_err(|error| FieldErrors::of("targetRelease", error))?;
    created(&app, &grant, &deployment, rollback::roll_back(&app, &grant, &deployment, target).await?)
}
