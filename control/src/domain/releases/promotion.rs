//! Promotion: releases the contents of a release again, in another deployment of the same app.

use serde_json::json;
use shared::ids::{DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::text::nfc;
use shared::version::Range;

use super::info::{ReleaseInfoInput, stored_rollout};
use super::repo::{self, ReleaseRow};
use super::{ReleaseMethod, service};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::repo::{DeploymentRow, LockedRow, next_label};
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::idempotency::{Answer, Attempt, IdempotencyKey};
use crate::infra::db::ReadTx;

/// A promotion request.
#[derive(Debug)]
pub struct Promotion {
    /// The name of the source deployment.
    pub from: String,
    /// The name of the destination deployment.
    pub to: String,
    /// The release to promote; by default the newest that is not disabled.
    pub label: Option<Label>,
    /// Values that override those of the promoted release.
    pub overrides: ReleaseInfoInput,
    /// What the names must mean; `None` for whatever they mean now.
    pub pinned: Option<Pinned>,
}

/// What a page showed under the names of a promotion. Deployments can be renamed or recreated until its form is sent.
#[derive(Debug)]
pub struct Pinned {
    /// The release to promote.
    pub release: ReleaseId,
    /// The destination.
    pub destination: DeploymentId,
}

/// Promotes a release to another deployment of the app. Errors: 404 if a deployment or the release does not exist, or is not the pinned one; 409 by the
/// rules for releases, or if the key is in use for another request.
///
/// Only the destination is locked. The source's release is read once after that, and its contents never change. If it is updated, disabled or deleted
/// a moment later, that is the same as if it happened after the promotion.
pub async fn promote(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    promotion: &Promotion,
    key: Option<&IdempotencyKey>,
) -> Result<Answer<ReleaseRow>> {
    let Promotion { from, to, label, overrides, pinned } = promotion;
    let attempt = Attempt::new(grant.account(), key, &("promotion", grant.app(), nfc(from), nfc(to), label, overrides.parts()))?;
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let earlier = attempt.claim(tx).await?;
    grant.confirm(tx).await?;
    if let Some(row) = earlier {
        return Ok(Answer::repeated(row));
    }
    let destination = next_label(tx, grant.app(), &promotion.to).await?;
    let source = deployments::find(tx, grant.app(), &promotion.from).await?;
    let is_meant = |row: &LockedRow| pinned.as_ref().is_none_or(|pinned| pinned.destination == row.id);
    let destination = destination.filter(is_meant).ok_or(Error::NotFound(Thing::Destination))?;
    grant.confirm(tx).await?;
    if destination.id == source.id {
        return Err(Error::Conflict(Conflict::OwnDeployment));
    }
    let from = find_source(tx, &source, promotion.label).await?;
    if pinned.as_ref().is_some_and(|pinned| pinned.release != from.id) {
        return Err(Error::NotFound(Thing::Release));
    }
    if overrides.package_hash.as_ref().is_some_and(|hash| *hash != from.package_hash) {
        return Err(Error::Conflict(Conflict::OtherHash(from.label)));
    }
    let given_range = overrides.app_version.as_ref().map(Range::text).filter(|range| !range.is_empty());
    let app_version = given_range.unwrap_or(&from.app_version).to_owned();
    let range = Range::parse(&app_version).map_err(Error::internal)?;
    service::check_release(&repo::ranges(tx, &destination.id).await?, &range, &from.package_hash)?;
    let description = match &overrides.description {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.as_str().to_owned()),
        None => from.description,
    };
    let row = ReleaseRow {
        id: ReleaseId::v7(now, app.entropy.bytes()?),
        label: destination.last_label,
        app_version,
        description,
        is_mandatory: overrides.is_mandatory.unwrap_or(from.is_mandatory),
        is_disabled: overrides.is_disabled.unwrap_or(from.is_disabled),
        rollout: overrides.rollout.and_then(stored_rollout),
        package_hash: from.package_hash,
        blob_sha256: from.blob_sha256,
        manifest_sha256: from.manifest_sha256,
        size: from.size,
        release_method: ReleaseMethod::Promote,
        original_label: Some(from.label),
        original_deployment: Some(source.name.clone()),
        released_by: grant.email().to_owned(),
        upload_time: now,
    };
    if !service::add(tx, grant.app(), &destination, &row).await? {
        return Err(Error::Conflict(Conflict::ReleaseDeleted));
    }
    attempt.complete(tx, &row).await?;
    let details = json!({
        "deployment": &promotion.to,
        "label": format!("v{}", row.label),
        "originalDeployment": source.name,
        "originalLabel": format!("v{}", from.label),
    });
    change.commit(Event::new(Action::PromoteRelease, &row.id).of_app(grant.app()).with(details)).await?;
    tracing::info!(deployment.id = destination.id.as_str(), release.label = row.label, "release promoted");
    Ok(Answer::new(row))
}

/// Finds the release to promote.
async fn find_source(tx: &mut ReadTx, source: &DeploymentRow, label: Option<Label>) -> Result<ReleaseRow> {
    let Some(label) = label else {
        let found = repo::newest_enabled(tx, &source.id).await?;
        return found.ok_or_else(|| Error::Conflict(Conflict::NoEnabledRelease));
    };
    let found = repo::find(tx, &source.id, label).await?.ok_or(Error::NotFound(Thing::Release))?;
    if found.is_disabled { Err(Error::Conflict(Conflict::IsDisabled(label))) } else { Ok(found) }
}
