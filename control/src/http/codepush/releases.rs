//! Releases: upload, change, promotion, rollback, history.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::FieldErrors;
use shared::keys::{Label, Name};

use super::problem::SizeLimit;
use super::shape::{OnePackage, Package, PackageChange};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageReleases, ReadApp};
use crate::domain::error::{Error, Result};
use crate::domain::idempotency::{Answer, IdempotencyKey};
use crate::domain::releases::change::{self, ReleaseChange};
use crate::domain::releases::promotion::{self, Promotion};
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::rollback::{self, Rollback};
use crate::domain::releases::service;
use crate::domain::releases::{UploadAllowance, upload};
use crate::http::AppState;
use crate::http::extract::path::DestinationPath;
use crate::http::extract::upload::receive;
use crate::http::extract::{DeploymentPath, Json, LabelPath, MaybeIdempotent, encode_segment, package_info};
use crate::http::{history, present};

/// Responds with a new release. A repeated answer is the first one, with URLs that are signed again.
fn created(
    app: &AppState,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    answer: Answer<ReleaseRow>,
) -> Result<impl IntoResponse + use<>> {
    let package = present::release(grant.app(), service::Release { row: answer.value, diffs: Vec::new() }, &app.download_urls())?.into();
    let location = format!("/apps/{}/deployments/{}", encode_segment(grant.called()), encode_segment(deployment));
    let replayed = answer.is_repeated.then_some([("idempotent-replayed", "true")]);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], replayed, Json(OnePackage { package })))
}

/// Uploads a release.
pub(super) async fn create(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    allowance: UploadAllowance,
    DeploymentPath(deployment): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
    request: Request,
) -> Result<Response> {
    let received = match receive(&app, &grant, &deployment, key, request).await {
        Err(error @ Error::TooLarge(_)) => {
            let limit = upload::accept(&app, &grant, &deployment, None, None).await?.limit;
            let mut response = error.into_response();
            response.extensions_mut().insert(SizeLimit(limit));
            return Ok(response);
        }
        received => received?,
    };
    let release = upload::release(Arc::clone(&app.context), grant.clone(), allowance, deployment.clone(), received);
    // All or nothing, even if the client disconnects now.
    let answer = app.work.run(release).await?;
    Ok(created(&app, &grant, &deployment, answer)?.into_response())
}

/// Changes a release: 204 if nothing changes.
pub(super) async fn update(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    Json(sent): Json<PackageChange>,
) -> Result<Response> {
    let (label, changes) = sent.split();
    let mut errors = FieldErrors::default();
    let label = errors.take("label", label.parse_optional::<Label>());
    let info = package_info::of_change(changes, &mut errors);
    let Some(label) = label.filter(|_| errors.is_empty()) else { return Err(errors.into()) };
    match change::change(&app, &grant, &deployment, &ReleaseChange { label, info, seen: None }).await? {
        Some(release) => {
            Ok(Json(OnePackage { package: present::release(grant.app(), release, &app.download_urls())?.into() }).into_response())
        }
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Promotes a release to another deployment.
pub(super) async fn promote(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(source): DeploymentPath,
    DestinationPath(destination): DestinationPath,
    MaybeIdempotent(key): MaybeIdempotent,
    Json(sent): Json<PackageChange>,
) -> Result<impl IntoResponse> {
    let (label, changes) = sent.split();
    let mut errors = FieldErrors::default();
    let to = errors.take("destination", Name::for_lookup(&destination).map(str::to_owned));
    let label = errors.take("label", label.parse_optional());
    let overrides = package_info::of_promotion(changes, &mut errors);
    let (Some(to), Some(label)) = (to, label) else { return Err(errors.into()) };
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let promotion = Promotion { from: source, to, label, overrides, pinned: None };
    let answer = promotion::promote(&app, &grant, &promotion, key.as_ref()).await?;
    created(&app, &grant, &promotion.to, answer)
}

/// Rolls back to the release before the newest.
pub(super) async fn roll_back(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    MaybeIdempotent(key): MaybeIdempotent,
) -> Result<impl IntoResponse> {
    rolled_back(&app, &grant, &deployment, None, key.as_ref()).await
}

/// Rolls back to a release.
pub(super) async fn roll_back_to(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
    MaybeIdempotent(key): MaybeIdempotent,
) -> Result<impl IntoResponse> {
    rolled_back(&app, &grant, &deployment, Some(label), key.as_ref()).await
}

async fn rolled_back(
    app: &AppState,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    target: Option<Label>,
    key: Option<&IdempotencyKey>,
) -> Result<impl IntoResponse + use<>> {
    let answer = rollback::roll_back(app, grant, deployment, &Rollback { target, seen: None }, key).await?;
    created(app, grant, deployment, answer)
}

/// A deployment's releases, oldest first.
pub(super) async fn history(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    history::response(&app, &grant, &deployment, |app, release, urls| present::release(app, release, urls).map(Package::from)).await
}
