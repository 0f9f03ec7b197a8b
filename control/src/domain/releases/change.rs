//! Updates a release: its metadata can change, its contents cannot.

use serde_json::{Map, Value, json};
use shared::hash::{BlobKey, PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::package::Manifest;
use shared::version::Range;
use tokio::io::AsyncReadExt;

use super::ReleaseMethod;
use super::info::{Description, ReleaseInfoInput, stored_rollout};
use super::repo::{self, ReleaseRow};
use super::service::{Release, need_diffs};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::{repo::lock_named, service as deployments, snapshots};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::size;
use crate::infra::db::ReadTx;

/// An update of a release.
#[derive(Debug)]
pub struct ReleaseChange {
    /// The release; the newest by default.
    pub label: Option<Label>,
    /// The new values.
    pub info: ReleaseInfoInput,
    /// What the caller has seen of the release ([`fingerprint`]), if it must not have changed since.
    pub seen: Option<Sha256Hex>,
}

/// A hash of everything about a release that can change.
pub fn fingerprint(row: &ReleaseRow) -> Sha256Hex {
    let parts = json!([row.app_version, row.description, row.is_mandatory, row.is_disabled, row.rollout, row.package_hash]);
    Sha256Hex::of(parts.to_string().as_bytes())
}

/// Updates a release. `None` if nothing would change, which is decided before any refusal. Errors: 404; 409 by the rules for releases.
pub async fn change(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    requested: &ReleaseChange,
) -> Result<Option<Release>> {
    let verified = verify_hash(app, grant.app(), deployment, requested).await?;
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    grant.confirm(tx).await?;
    let locked = lock_named(tx, grant.app(), deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    grant.confirm(tx).await?;
    let newest = repo::newest(tx, &locked.id).await?.ok_or(Error::NotFound(Thing::Releases))?;
    let newest_label = newest.label;
    let old = match requested.label {
        Some(label) => repo::find(tx, &locked.id, label).await?.ok_or(Error::NotFound(Thing::Release))?,
        None => newest,
    };
    let (new, Changes { before, after }) = changed(&old, &requested.info);
    if requested.seen.as_ref().is_some_and(|seen| *seen != fingerprint(&old)) {
        return Err(Error::Conflict(Conflict::ReleaseChanged(old.label)));
    }
    if after.is_empty() {
        return Ok(None);
    }
    check(&old, &new, old.label == newest_label)?;
    if new.package_hash != old.package_hash && verified != Some((old.id.clone(), new.package_hash.clone())) {
        return Err(Error::Conflict(Conflict::OtherContents(old.label)));
    }
    size::check_quota(tx, app, grant.app(), &locked.id, size::Change::Edit(&new)).await?;
    repo::update(tx, &new).await?;
    snapshots::enqueue(tx, &locked.deployment_key, now).await?;
    need_diffs(tx, grant.app(), now).await?;
    let diffs = repo::diffs_of(tx, &new.id).await?;
    let details = json!({ "deployment": deployment, "label": format!("v{}", new.label), "changes": after, "before": before });
    change.commit(Event::new(Action::UpdateRelease, &new.id).of_app(grant.app()).with(details)).await?;
    Ok(Some(Release { row: new, diffs }))
}

/// The changed members of a release by name. The description's text is left out.
#[derive(Default)]
struct Changes {
    before: Map<String, Value>,
    after: Map<String, Value>,
}

/// The updated release, and what changed.
fn changed(old: &ReleaseRow, info: &ReleaseInfoInput) -> (ReleaseRow, Changes) {
    let (mut new, mut changes) = (old.clone(), Changes::default());
    let mut note = |name: &str, before: Value, after: Value| {
        changes.before.insert(name.to_owned(), before);
        changes.after.insert(name.to_owned(), after);
    };
    if let Some(range) = info.app_version.as_ref().map(Range::text).filter(|range| **range != old.app_version) {
        range.clone_into(&mut new.app_version);
        note("appVersion", json!(old.app_version), json!(range));
    }
    // No description and an empty one are the same to readers.
    let text = info.description.as_ref().map(Description::as_str);
    if let Some(text) = text.filter(|text| *text != old.description.as_deref().unwrap_or_default()) {
        new.description = Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        note("description", Value::Null, Value::Null);
    }
    if let Some(flag) = info.is_mandatory.filter(|flag| *flag != old.is_mandatory) {
        new.is_mandatory = flag;
        note("isMandatory", json!(old.is_mandatory), json!(flag));
    }
    if let Some(flag) = info.is_disabled.filter(|flag| *flag != old.is_disabled) {
        new.is_disabled = flag;
        note("isDisabled", json!(old.is_disabled), json!(flag));
    }
    if let Some(rollout) = info.rollout.map(stored_rollout).filter(|rollout| *rollout != old.rollout) {
        new.rollout = rollout;
        note("rollout", json!(old.rollout), json!(rollout));
    }
    if let Some(hash) = info.package_hash.as_ref().filter(|hash| **hash != old.package_hash) {
        new.package_hash = hash.clone();
        note("packageHash", json!(old.package_hash), json!(hash));
    }
    (new, changes)
}

/// Refuses changes that would take a release away from devices that have it, and a new description for a promoted release.
fn check(old: &ReleaseRow, new: &ReleaseRow, is_newest: bool) -> Result<()> {
    if new.rollout != old.rollout {
        let Some(current) = old.rollout else {
            return Err(Error::Conflict(Conflict::RolledOut(old.label)));
        };
        if !is_newest {
            return Err(Error::Conflict(Conflict::RolloutOver(old.label)));
        }
        if new.rollout.is_some_and(|rollout| rollout < current) {
            return Err(Error::Conflict(Conflict::RolloutShrinks(current)));
        }
    }
    if old.is_disabled && !new.is_disabled && !is_newest && new.rollout.is_some() {
        return Err(Error::Conflict(Conflict::StaysDisabled(old.label)));
    }
    if new.description != old.description && old.release_method == ReleaseMethod::Promote {
        return Err(Error::Conflict(Conflict::PromotedDescription(old.label)));
    }
    Ok(())
}

/// Computes the hash of what is actually stored, if the update gives a hash that differs from the row's. The row may be corrected, but only to that
/// hash.
async fn verify_hash(app: &Context, of: &AppId, deployment: &str, requested: &ReleaseChange) -> Result<Option<(ReleaseId, PackageHash)>> {
    let Some(claimed) = &requested.info.package_hash else { return Ok(None) };
    let row = {
        let mut tx = app.db.read().await?;
        let deployment = deployments::find(&mut tx, of, deployment).await?;
        find_requested(&mut tx, &deployment.id, requested.label).await?
    };
    match row {
        Some(row) if row.package_hash != *claimed => {
            let hash = stored_hash(app, of, &row).await?;
            Ok(Some((row.id, hash)))
        }
        _ => Ok(None),
    }
}

async fn find_requested(tx: &mut ReadTx, deployment: &DeploymentId, label: Option<Label>) -> sqlx::Result<Option<ReleaseRow>> {
    match label {
        Some(label) => repo::find(tx, deployment, label).await,
        None => repo::newest(tx, deployment).await,
    }
}

/// The package hash of the stored bytes: of the file itself for a single-file package, else of the manifest, whose own hash is verified.
async fn stored_hash(app: &Context, of: &AppId, row: &ReleaseRow) -> Result<PackageHash> {
    let Some(manifest) = &row.manifest_sha256 else { return Ok(row.blob_sha256.clone()) };
    let key = BlobKey { app: of.clone(), sha256: manifest.clone() };
    let found = app.storage.open(&key, None).await.map_err(Error::unavailable)?;
    let mut reader = found.ok_or_else(|| Error::unavailable("a release's manifest is missing in storage"))?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.map_err(Error::unavailable)?;
    if Sha256Hex::of(&bytes) != *manifest {
        return Err(Error::internal("a release's manifest is corrupted"));
    }
    Ok(Manifest::from_json(&bytes).map_err(Error::internal)?.package_hash())
}
