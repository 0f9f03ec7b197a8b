//! Rollback endpoint.

use axum::extract::State;
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::releases::{NewRollback, ReleaseAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::{IdempotencyHeader, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::Result;
use crate::domain::releases::rollback::{self, Rollback};
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, MaybeIdempotent};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(roll_back_release))
}

/// Roll back to an earlier release.
///
/// Creates a new release with the target's contents, enabled and fully rolled out. The body is optional.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/rollbacks",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    params(IdempotencyHeader),
    request_body = Option<NewRollback>,
    responses(
        (
            status = 201,
            body = ReleaseAnswer,
            headers(("Idempotent-Replayed" = bool, description = "`true`: an earlier request with this key got this answer, and this one changed nothing"))
        ),
        (status = 404, description = "The app, deployment or release was not found, or there is no release before the newest"),
        (status = 409, description = "The target is the current release, or has another `appVersion`; the deployment has reached its limit of \
            releases, or of version ranges if the target is disabled; or the `Idempotency-Key` was used for another request"),
    )
)]
pub async fn roll_back_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
    body: Option<Json<NewRollback>>,
) -> Result<impl IntoResponse> {
    let NewRollback { target_release } = body.map(|Json(new)| new).unwrap_or_default();
    let target = target_release.parse_optional().map_err(|error| FieldErrors::of("targetRelease", error))?;
    let answer = rollback::roll_back(&app, &grant, &deployment, &Rollback { target, seen: None }, key.as_ref()).await?;
    created(&app, &grant, &deployment, answer)
}
