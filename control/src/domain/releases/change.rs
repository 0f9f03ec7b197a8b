//! The PATCH of a release: what it says of itself changes, its contents never do.

use serde_json::{Map, Value, json};
use shared::hash::{BlobKey, PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::package::Manifest;
use shared::version::Range;
use tokio::io::AsyncReadExt;

use super::ReleaseMethod;
use super::info::{Description, GivenInfo, stored_rollout};
use super::repo::{self, ReleaseRow};
use super::service::{self, Release};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{Action, Event};
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::size;
use crate::infra::db::ReadTx;

/// A change of a release.
#[derive(Debug)]
pub struct ReleaseChange {
    /// Which release; the newest unless given.
    pub label: Option<Label>,
    /// What changes.
    pub info: GivenInfo,
}

/// Changes a release. None when it is so already, which is asked before any refusal. Errors: 404; 409 as the rules of releases say.
pub async fn change(app: &Context, grant: &AppGrant<ManageReleases>, deployment: &str, asked: &ReleaseChange) -> Result<Option<Release>> {
    let proven = prove_hash(app, grant.app(), deployment, asked).await?;
    let mut change = grant.begin(app).await?;
    let (now, tx) = (change.now(), &mut change);
    grant.confirm(tx).await?;
    let locked = repo::lock(tx, grant.app(), deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    grant.confirm(tx).await?;
    let newest = repo::newest(tx, &locked.id).await?.ok_or(Error::NotFound(Thing::Release))?;
    let newest_label = newest.label;
    let old = match asked.label {
        Some(label) => repo::find(tx, &locked.id, label).await?.ok_or(Error::NotFound(Thing::Release))?,
        None => newest,
    };
    let (new, changes) = changed(&old, &asked.info);
    if changes.is_empty() {
        return Ok(None);
    }
    check(&old, &new, old.label == newest_label)?;
    if new.package_hash != old.package_hash && proven != Some((old.id.clone(), new.package_hash.clone())) {
        return Err(Error::Conflict(Conflict::OtherContents(old.label)));
    }
    size::admit(tx, app, grant.app(), &locked.id, size::Change::Edit(&new)).await?;
    repo::update(tx, &new).await?;
    service::publish(tx, &locked, now).await?;
    let diffs = repo::diffs_of(tx, &new.id).await?;
    let details = json!({ "deployment": deployment, "label": format!("v{}", new.label), "changes": changes });
    change.commit(Event::new(Action::UpdateRelease, &new.id).of_app(grant.app()).with(details)).await?;
    Ok(Some(Release { row: new, diffs }))
}

/// The release as it is to be, and what differs: by the members' names, with the new values of all but long texts.
fn changed(old: &ReleaseRow, info: &GivenInfo) -> (ReleaseRow, Map<String, Value>) {
    let (mut new, mut changes) = (old.clone(), Map::new());
    let mut note = |name: &str, value: Value| {
        changes.insert(name.to_owned(), value);
    };
    if let Some(range) = info.app_version.as_ref().map(Range::text).filter(|range| **range != old.app_version) {
        range.clone_into(&mut new.app_version);
        note("appVersion", json!(range));
    }
    // No notes and empty notes are the same to whoever reads them.
    let text = info.description.as_ref().map(Description::as_str);
    if let Some(text) = text.filter(|text| *text != old.description.as_deref().unwrap_or_default()) {
        new.description = Some(text.to_owned());
        note("description", Value::Null);
    }
    if let Some(flag) = info.is_mandatory.filter(|flag| *flag != old.is_mandatory) {
        new.is_mandatory = flag;
        note("isMandatory", json!(flag));
    }
    if let Some(flag) = info.is_disabled.filter(|flag| *flag != old.is_disabled) {
        new.is_disabled = flag;
        note("isDisabled", json!(flag));
    }
    if let Some(rollout) = info.rollout.map(stored_rollout).filter(|rollout| *rollout != old.rollout) {
        new.rollout = rollout;
        note("rollout", json!(rollout));
    }
    if let Some(hash) = info.package_hash.as_ref().filter(|hash| **hash != old.package_hash) {
        new.package_hash = hash.clone();
        note("packageHash", json!(hash));
    }
    (new, changes)
}

/// Refuses what would take a release from devices that have it, and a description that is not this release's own.
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

/// The hash of what is really stored for the release, when the patch says another one than its row: the row may be corrected, by that hash alone.
async fn prove_hash(app: &Context, of: &AppId, deployment: &str, asked: &ReleaseChange) -> Result<Option<(ReleaseId, PackageHash)>> {
    let Some(said) = &asked.info.package_hash else { return Ok(None) };
    let row = {
        let mut tx = app.db.read().await?;
        let deployment = deployments::find(&mut tx, of, deployment).await?;
        asked_for(&mut tx, &deployment.id, asked.label).await?
    };
    match row {
        Some(row) if row.package_hash != *said => {
            let hash = stored_hash(app, of, &row).await?;
            Ok(Some((row.id, hash)))
        }
        _ => Ok(None),
    }
}

async fn asked_for(tx: &mut ReadTx, deployment: &DeploymentId, label: Option<Label>) -> sqlx::Result<Option<ReleaseRow>> {
    match label {
        Some(label) => repo::find(tx, deployment, label).await,
        None => repo::newest(tx, deployment).await,
    }
}

/// The hash of the package by what is stored: of a single file that of its bytes, else that of its manifest, whose own name is proven.
async fn stored_hash(app: &Context, of: &AppId, row: &ReleaseRow) -> Result<PackageHash> {
    let Some(manifest) = &row.manifest_sha256 else { return Ok(row.blob_sha256.clone()) };
    let key = BlobKey { app: of.clone(), sha256: manifest.clone() };
    let found = app.storage.open(&key, None).await.map_err(Error::unavailable)?;
    let mut reader = found.ok_or_else(|| Error::unavailable("the manifest of a release is not in the store"))?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.map_err(Error::unavailable)?;
    if Sha256Hex::of(&bytes) != *manifest {
        return Err(Error::internal("the manifest of a release is damaged"));
    }
    Ok(Manifest::from_json(&bytes).map_err(Error::internal)?.package_hash())
}
