//! Rollback: an earlier release of a deployment is released again, on top of the current one, which stays.

use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;
use shared::ids::ReleaseId;
use shared::keys::Label;
use shared::version::Range;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::info::given_label;
use super::repo::{self, LabelRow, ReleaseRow};
use super::service;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::App;
use crate::domain::error::{AppError, AppResult};
use crate::http::AppState;
use crate::http::api::releases::{ReleaseAnswer, created};
use crate::http::extract::{DeploymentPath, Faults, Json, Member};
use crate::infra::db::WriteTx;

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
    let mut faults = Faults::default();
    let Some(target) = faults.take("targetRelease", given_label(&new.target_release)) else { return Err(faults.into_error()) };
    let mut tx = grant.begin(&app).await?;
    let (locked, row) = roll_back(&mut tx, &app, &grant, &actor, &deployment, target).await?;
    tx.commit().await?;
    app.publisher.wake();
    tracing::info!(deployment.id = locked.id.as_str(), release.label = row.label, "a release was rolled back");
    Ok(created(&grant, &deployment, service::out(grant.app(), &[], row, &app.download_urls())?))
}

/// Makes a release of an earlier one's contents, in the transaction's last statements. It may be on top of an unfinished rollout: that is what it
/// is for.
async fn roll_back(
    tx: &mut WriteTx,
    app: &App,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    deployment: &str,
    target: Option<Label>,
) -> AppResult<(LabelRow, ReleaseRow)> {
    let now = app.now();
    grant.confirm(tx).await?;
    let next = repo::next_label(tx, grant.app(), deployment).await?.ok_or(AppError::NotFound("deployment"))?;
    grant.confirm(tx).await?;
    let current = repo::newest(tx, &next.id).await?;
    let to = match (&current, target) {
        (_, Some(target)) => repo::find(tx, &next.id, target).await?.ok_or(AppError::NotFound("release"))?,
        (Some(current), None) => repo::before(tx, &next.id, current.label).await?.ok_or(NO_PRIOR)?,
        (None, None) => return Err(NO_PRIOR),
    };
    let current = current.ok_or(NO_PRIOR)?;
    if to.label == current.label {
        return Err(AppError::Conflict(format!("v{} is the current release already", to.label)));
    }
    let canonical = |row: &ReleaseRow| Range::parse(&row.app_version).map(|range| range.canonical().to_owned()).map_err(AppError::internal);
    if canonical(&to)? != canonical(&current)? {
        let text = format!("v{} is for other binary versions than the current release, v{}", to.label, current.label);
        return Err(AppError::Conflict(text));
    }
    let row = ReleaseRow {
        id: ReleaseId::v7(now, app.dice.bytes()?),
        label: next.last_label,
        is_disabled: false,
        rollout: None,
        release_method: "Rollback".to_owned(),
        original_label: Some(to.label),
        original_deployment: None,
        released_by: grant.email().to_owned(),
        upload_time: now,
        ..to
    };
    if !service::add(tx, app, grant.app(), &next, &row).await? {
        return Err(AppError::internal("a blob is gone although a release refers to it"));
    }
    let details = json!({ "deployment": deployment, "label": format!("v{}", row.label), "originalLabel": format!("v{}", to.label) });
    audit::note(tx, actor, Event::new(Action::RollBackRelease, &row.id).of_app(grant.app()).with(details), &app.dice, now).await?;
    Ok((next, row))
}

const NO_PRIOR: AppError = AppError::NotFound("a prior release");
