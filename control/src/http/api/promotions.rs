//! Promotion endpoint.

use axum::extract::State;
use axum::response::IntoResponse;
use shared::FieldErrors;
use shared::api::releases::{NewPromotion, ReleaseAnswer};
use shared::keys::Name;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::{IdempotencyHeader, created};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::Result;
use crate::domain::releases::promotion::{self, Promotion};
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, MaybeIdempotent, package_info};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(promote_release))
}

/// Promote a release.
///
/// Copies a release of this deployment to another deployment of the app. Later updates of the source release do not change the copy.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/promotions",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    params(IdempotencyHeader),
    request_body = NewPromotion,
    responses(
        (
            status = 201,
            body = ReleaseAnswer,
            headers(("Idempotent-Replayed" = bool, description = "`true`: an earlier request with this key got this answer, and this one changed nothing"))
        ),
        (status = 404, description = "The app, deployment, destination or release was not found"),
        (
            status = 409,
            description = "The destination is the source, its newest release is in an unfinished rollout, or its current release for this `appVersion` \
                has the same contents; the source has no enabled release, or the requested one is disabled; the `packageHash` does not match the \
                release; the release was deleted at the same time; the destination has reached its limit of releases, version ranges or \
                size; or the `Idempotency-Key` was used for another request"
        ),
    )
)]
pub async fn promote_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(source): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
    Json(new): Json<NewPromotion>,
) -> Result<impl IntoResponse> {
    let promotion = read(source, new)?;
    let answer = promotion::promote(&app, &grant, &promotion, key.as_ref()).await?;
    created(&app, &grant, &promotion.to, answer)
}

fn read(from: String, new: NewPromotion) -> Result<Promotion, FieldErrors> {
    let mut errors = FieldErrors::default();
    let to = errors.take("destination", new.destination.required().and_then(|name| Name::for_lookup(&name).map(str::to_owned)));
    let label = errors.take("label", new.label.parse_optional());
    let overrides = package_info::of_promotion(new.package_info, &mut errors);
    match (to, label) {
        (Some(to), Some(label)) if errors.is_empty() => Ok(Promotion { from, to, label, overrides, pinned: None }),
        _ => Err(errors),
    }
}
