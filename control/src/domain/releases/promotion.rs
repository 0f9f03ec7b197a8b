//! Promotion: a release of one deployment is released again in another deployment of the same app, with the same contents.

use serde_json::json;
use shared::ids::ReleaseId;
use shared::keys::Label;
use shared::version::Range;

use super::info::{GivenInfo, stored_rollout};
use super::repo::{self, LabelRow, ReleaseRow};
use super::service;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::Context;
use crate::domain::deployments::repo::DeploymentRow;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult};
use crate::infra::db::{ReadTx, WriteTx};

/// A promotion to be made.
#[derive(Debug)]
pub struct Promotion {
    /// The name of the deployment that the release goes to.
    pub destination: String,
    /// Which release; the newest one that is not disabled unless given.
    pub label: Option<Label>,
    /// What differs from the release that is promoted.
    pub info: GivenInfo,
}

/// Releases a release of the deployment `source` again in another one of the app. Errors: 404 without such a deployment or release; 409 as the rules of
/// releases say.
pub async fn promote(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    source: &str,
    promotion: &Promotion,
) -> AppResult<ReleaseRow> {
    let mut tx = grant.begin_tx(app).await?;
    let (destination, row) = add(&mut tx, app, grant, actor, source, promotion).await?;
    tx.commit().await?;
    app.publisher.wake();
    tracing::info!(deployment.id = destination.id.as_str(), release.label = row.label, "a release was promoted");
    Ok(row)
}

/// Makes a release of another one's contents, in the transaction's last statements.
///
/// The destination alone is locked. The source's release is read after that, once, and its contents never change; that it is changed, disabled or
/// cleared away a moment later is the same as if that had come after the promotion.
async fn add(
    tx: &mut WriteTx,
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    source: &str,
    promotion: &Promotion,
) -> AppResult<(LabelRow, ReleaseRow)> {
    let now = app.now();
    grant.confirm(tx).await?;
    let destination = repo::next_label(tx, grant.app(), &promotion.destination).await?;
    let source = deployments::find(tx, grant.app(), source).await?;
    let destination = destination.ok_or(AppError::NotFound("destination deployment"))?;
    grant.confirm(tx).await?;
    if destination.id == source.id {
        return Err(AppError::Conflict("a release cannot be promoted to its own deployment".to_owned()));
    }
    let from = promoted(tx, &source, promotion.label).await?;
    let info = &promotion.info;
    if info.package_hash.as_ref().is_some_and(|hash| *hash != from.package_hash) {
        return Err(AppError::Conflict(format!("packageHash: is not the hash of v{}", from.label)));
    }
    let given_range = info.app_version.as_ref().map(Range::text).filter(|range| !range.is_empty());
    let app_version = given_range.unwrap_or(&from.app_version).to_owned();
    let range = Range::parse(&app_version).map_err(AppError::internal)?;
    service::check_release(&repo::ranges(tx, &destination.id).await?, &range, &from.package_hash)?;
    let row = ReleaseRow {
        id: ReleaseId::v7(now, app.dice.bytes()?),
        label: destination.last_label,
        app_version,
        description: info.description.clone().filter(|text| !text.is_empty()).or(from.description),
        is_mandatory: info.is_mandatory.unwrap_or(from.is_mandatory),
        is_disabled: info.is_disabled.unwrap_or(from.is_disabled),
        rollout: info.rollout.and_then(stored_rollout).map(i64::from),
        package_hash: from.package_hash,
        blob_sha256: from.blob_sha256,
        manifest_sha256: from.manifest_sha256,
        size: from.size,
        release_method: "Promote".to_owned(),
        original_label: Some(from.label),
        original_deployment: Some(source.name.clone()),
        released_by: grant.email().to_owned(),
        upload_time: now,
    };
    if !service::add(tx, app, grant.app(), &destination, &row).await? {
        return Err(AppError::Conflict("the release was deleted at the same moment".to_owned()));
    }
    let details = json!({
        "deployment": &promotion.destination,
        "label": format!("v{}", row.label),
        "originalDeployment": source.name,
        "originalLabel": format!("v{}", from.label),
    });
    audit::note(tx, actor, Event::new(Action::PromoteRelease, &row.id).of_app(grant.app()).with(details), &app.dice, now).await?;
    Ok((destination, row))
}

/// The release that is to be promoted.
async fn promoted(tx: &mut ReadTx, source: &DeploymentRow, label: Option<Label>) -> AppResult<ReleaseRow> {
    let Some(label) = label else {
        let found = repo::newest_enabled(tx, &source.id).await?;
        return found.ok_or_else(|| AppError::Conflict("the source deployment has no enabled release".to_owned()));
    };
    let found = repo::find(tx, &source.id, label).await?.ok_or(AppError::NotFound("release"))?;
    if found.is_disabled { Err(AppError::Conflict(format!("{label} is disabled"))) } else { Ok(found) }
}
