//! The operation that rolls a deployment back.

use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::{ReleaseAnswer, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::Actor;
use crate::domain::error::AppResult;
use crate::domain::releases::info::given_label;
use crate::domain::releases::{rollback, service};
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, Member};
use shared::FieldErrors;

/// A rollback to be made.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "targetRelease": "v1" }))]
pub struct NewRollback {
    /// A text: the release to go back to; the one before the newest unless given.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$")]
    pub target_release: Member,
}

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
    actor: Actor,
    DeploymentPath(deployment): DeploymentPath,
    body: Option<Json<NewRollback>>,
) -> AppResult<impl IntoResponse> {
    let new = body.map(|Json(new)| new).unwrap_or_default();
    let mut errors = FieldErrors::default();
    let Some(target) = errors.take("targetRelease", given_label(&new.target_release)) else { return Err(errors.into()) };
    let row = rollback::roll_back(&app, &grant, &actor, &deployment, target).await?;
    Ok(created(&grant, &deployment, service::out(grant.app(), &[], row, &app.download_urls())?))
}
