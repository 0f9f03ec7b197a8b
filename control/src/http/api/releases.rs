//! Release endpoints.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::FieldErrors;
use shared::api::releases::{HistoryAnswer, ReleaseAnswer, ReleasePatch};
use shared::keys::Label;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageReleases, ReadApp};
use crate::domain::error::Result;
use crate::domain::idempotency::Answer;
use crate::domain::releases::change::{self, ReleaseChange};
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::service;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, LabelPath, encode_segment, package_info};
use crate::http::{history, present};

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_release)).routes(routes!(get_history)).routes(routes!(patch_release))
}

/// The header by which an operation can be repeated. For the OpenAPI document only: the extractor [`MaybeIdempotent`](crate::http::extract::MaybeIdempotent)
/// reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only describes; never constructed")]
pub(super) struct IdempotencyHeader {
    /// A key of your choice, such as a UUID. For 24 hours, the same request with it gets the first answer again and creates nothing
    #[param(rename = "Idempotency-Key", value_type = String, required = false, min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$")]
    key: Option<String>,
}

/// Responds with a new release, which has no diffs yet. A repeated answer is the first one, with URLs that are signed again.
pub(super) fn created(
    app: &AppState,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    answer: Answer<ReleaseRow>,
) -> Result<impl IntoResponse + use<>> {
    let package = present::release(grant.app(), service::Release { row: answer.value, diffs: Vec::new() }, &app.download_urls())?;
    let (app_name, deployment_name) = (encode_segment(grant.called()), encode_segment(deployment));
    let location = format!("/v1/apps/{app_name}/deployments/{deployment_name}/releases/{}", package.label);
    let replayed = answer.is_repeated.then_some([("idempotent-replayed", "true")]);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], replayed, Json(ReleaseAnswer { package })))
}

/// Get a release.
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
) -> Result<Json<ReleaseAnswer>> {
    let found = service::find(&mut app.db.read().await?, &grant, &deployment, label).await?;
    Ok(Json(ReleaseAnswer { package: present::release(grant.app(), found, &app.download_urls())? }))
}

/// Get a deployment's release history.
///
/// Releases are sorted oldest first.
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
) -> Result<Response> {
    history::response(&app, &grant, &deployment, present::release).await
}

/// Update a release.
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}/deployments/{deployment}/release",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    request_body = ReleasePatch,
    responses(
        (status = 200, body = ReleaseAnswer),
        (status = 204, description = "Nothing changed"),
        (status = 404, description = "The app, deployment or release was not found"),
        (
            status = 409,
            description = "The rollout would decrease, or cannot change because the release is fully rolled out or not the newest; a release that is not \
                the newest would be enabled with an unfinished rollout; the description is a promoted release's; the hash does not match the contents; or \
                the deployment has reached its limit of version ranges or size"
        ),
    )
)]
pub async fn patch_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    Json(patch): Json<ReleasePatch>,
) -> Result<Response> {
    let Some(changed) = change::change(&app, &grant, &deployment, &read(patch)?).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    Ok(Json(ReleaseAnswer { package: present::release(grant.app(), changed, &app.download_urls())? }).into_response())
}

fn read(patch: ReleasePatch) -> Result<ReleaseChange, FieldErrors> {
    let mut errors = FieldErrors::default();
    let label = errors.take("label", patch.label.parse_optional::<Label>());
    let info = package_info::of_change(patch.package_info, &mut errors);
    match label {
        Some(label) if errors.is_empty() => Ok(ReleaseChange { label, info, seen: None }),
        _ => Err(errors),
    }
}
