//! The operation that promotes a release.

use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use shared::keys::Name;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::{ReleaseAnswer, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::Actor;
use crate::domain::error::AppResult;
use crate::domain::releases::info::{GivenInfo, ReleaseChanges, given_label};
use crate::domain::releases::promotion::{self, Promotion};
use crate::domain::releases::service;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, Member};
use shared::FieldErrors;

/// A promotion to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "destination": "Production", "packageInfo": { "rollout": 20 } }))]
pub struct NewPromotion {
    /// A text: the name of the deployment that the release goes to.
    #[serde(default)]
    #[schema(value_type = String, required = true, min_length = 1, max_length = 255)]
    pub destination: Member,
    /// A text: which release; the newest one that is not disabled unless given.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$")]
    pub label: Member,
    /// What differs from the release that is promoted.
    #[serde(default)]
    #[schema(value_type = Option<ReleaseChanges>)]
    pub package_info: Member,
}

impl NewPromotion {
    /// The promotion that is asked for. Errors: 400, which names every fault.
    fn read(&self) -> AppResult<Promotion> {
        let mut errors = FieldErrors::default();
        let destination = errors.take("destination", self.destination.text().and_then(Name::sought).map(str::to_owned));
        let label = errors.take("label", given_label(&self.label));
        let info = GivenInfo::inheriting(&self.package_info, &mut errors);
        match (destination, label) {
            (Some(destination), Some(label)) if errors.is_empty() => Ok(Promotion { destination, label, info }),
            _ => Err(errors.into()),
        }
    }
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(promote_release))
}

/// Promote a release of this deployment to another one of the app. A change of the release that comes later does not follow it there.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/promotions",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    request_body = NewPromotion,
    responses(
        (status = 201, body = ReleaseAnswer),
        (status = 404, description = "there is no such app, deployment, destination or release"),
        (
            status = 409,
            description = "the destination is the source, the newest release there is in an unfinished rollout, or its current release for these \
                versions has the same contents; the source has no release that is enabled, or the one asked for is disabled; the packageHash is \
                not that of the release; the release was deleted at the same moment; the destination has no room for another release, range of \
                versions or description"
        ),
    )
)]
pub async fn promote_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    actor: Actor,
    DeploymentPath(source): DeploymentPath,
    Json(new): Json<NewPromotion>,
) -> AppResult<impl IntoResponse> {
    let promotion = new.read()?;
    let row = promotion::promote(&app, &grant, &actor, &source, &promotion).await?;
    Ok(created(&grant, &promotion.destination, service::out(grant.app(), &[], row, &app.download_urls())?))
}
