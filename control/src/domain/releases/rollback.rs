//! Rollback: releases the contents of an earlier release again, on top of the current release, which stays.

use serde_json::json;
use shared::ids::ReleaseId;
use shared::keys::Label;
use shared::text::nfc;
use shared::version::Range;

use super::repo::{self, ReleaseRow};
use super::{ReleaseMethod, service};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::repo::next_label;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::idempotency::{Answer, Attempt, IdempotencyKey};

/// A rollback request.
#[derive(Clone, Debug, Default)]
pub struct Rollback {
    /// The release to go back to; the one before the newest by default.
    pub target: Option<Label>,
    /// The newest release that the caller has seen, if there must not be a newer one since.
    pub seen: Option<ReleaseId>,
}

/// Releases the contents of an earlier release again, enabled and for all devices. It may be on top of an unfinished rollout: that is what it is for.
/// Errors: 404 if the release does not exist; 409 if it is the current one or targets other binary versions, if there is a newer release than the
/// caller has seen, or if the key is in use for another request.
pub async fn roll_back(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    rollback: &Rollback,
    key: Option<&IdempotencyKey>,
) -> Result<Answer<ReleaseRow>> {
    let target = rollback.target;
    let attempt = Attempt::new(grant.account(), key, &("rollback", grant.app(), nfc(deployment), target))?;
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    let earlier = attempt.claim(tx).await?;
    grant.confirm(tx).await?;
    if let Some(row) = earlier {
        return Ok(Answer::repeated(row));
    }
    let next = next_label(tx, grant.app(), deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    grant.confirm(tx).await?;
    let current = repo::newest(tx, &next.id).await?;
    let current = current.ok_or(Error::NotFound(Thing::Releases))?;
    let to = match target {
        Some(target) => repo::find(tx, &next.id, target).await?.ok_or(Error::NotFound(Thing::Release))?,
        None => repo::before(tx, &next.id, current.label).await?.ok_or(Error::NotFound(Thing::PriorRelease))?,
    };
    if rollback.seen.as_ref().is_some_and(|seen| *seen != current.id) {
        return Err(Error::Conflict(Conflict::NewerRelease(current.label)));
    }
    if to.label == current.label {
        return Err(Error::Conflict(Conflict::IsCurrent(to.label)));
    }
    let canonical = |row: &ReleaseRow| Range::parse(&row.app_version).map(|range| range.canonical().to_owned()).map_err(Error::internal);
    if canonical(&to)? != canonical(&current)? {
        return Err(Error::Conflict(Conflict::OtherVersions { to: to.label, current: current.label }));
    }
    let row = ReleaseRow {
        id: ReleaseId::v7(now, app.entropy.bytes()?),
        label: next.last_label,
        is_disabled: false,
        rollout: None,
        release_method: ReleaseMethod::Rollback,
        original_label: Some(to.label),
        original_deployment: None,
        released_by: grant.email().to_owned(),
        upload_time: now,
        ..to
    };
    if !service::add(tx, grant.app(), &next, &row).await? {
        return Err(Error::internal("a blob is missing although a release refers to it"));
    }
    attempt.complete(tx, &row).await?;
    let details = json!({ "deployment": deployment, "label": format!("v{}", row.label), "originalLabel": format!("v{}", to.label) });
    change.commit(Event::new(Action::RollBackRelease, &row.id).of_app(grant.app()).with(details)).await?;
    tracing::info!(deployment.id = next.id.as_str(), release.label = row.label, "release rolled back");
    Ok(Answer::new(row))
}
