//! The rules of releases.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;
use shared::hash::{BlobKey, PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::keys::{DeploymentKey, Label};
use shared::signature::download_url;
use shared::time::UnixMillis;
use shared::version::Range;
use shared::wire::check::DownloadUrls;

use super::blob;
use super::info::ReleaseInfo;
use super::repo::{self, DiffRow, LabelRow, NewReleaseRow, RangeRow, ReleaseRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::Context;
use crate::domain::deployments::repo::DeploymentRow;
use crate::domain::error::{AppError, AppResult};
use crate::domain::snapshot::outbox;
use crate::domain::snapshot::size::{self, Change};
use crate::http::api::releases::{DiffOut, ReleaseOut};
use crate::infra::db::{ReadTx, WriteTx};

/// The contents of a release: stored bytes, and what they hash to.
#[derive(Clone, Debug)]
pub struct StoredPackage {
    /// The hash of the contents.
    pub package_hash: PackageHash,
    /// The bundle.
    pub blob: Sha256Hex,
    /// Its file manifest; a single-file package has none.
    pub manifest: Option<Sha256Hex>,
    /// The bundle's size in bytes.
    pub size: u64,
}

/// Makes a release of an upload whose bytes are stored, in the transaction's last statements.
pub async fn commit(
    tx: &mut WriteTx,
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    deployment: &str,
    info: &ReleaseInfo,
    package: &StoredPackage,
) -> AppResult<Committed> {
    let now = app.now();
    grant.confirm(tx).await?;
    let next = repo::next_label(tx, grant.app(), deployment).await?.ok_or(AppError::NotFound("deployment"))?;
    // Once more: this may have waited for the deployment.
    grant.confirm(tx).await?;
    let earlier = repo::ranges(tx, &next.id).await?;
    check_release(&earlier, &info.app_version, &package.package_hash)?;
    let row = ReleaseRow {
        id: ReleaseId::v7(now, app.dice.bytes()?),
        label: next.last_label,
        app_version: info.app_version.text().to_owned(),
        description: info.description.clone(),
        is_mandatory: info.is_mandatory,
        is_disabled: info.is_disabled,
        rollout: info.rollout.map(i64::from),
        package_hash: package.package_hash.clone(),
        blob_sha256: package.blob.clone(),
        manifest_sha256: package.manifest.clone(),
        size: i64::try_from(package.size).map_err(AppError::internal)?,
        release_method: "Upload".to_owned(),
        original_label: None,
        original_deployment: None,
        released_by: grant.email().to_owned(),
        upload_time: now,
    };
    if !add(tx, app, grant.app(), &next, &row).await? {
        return Ok(Committed::BlobGone);
    }
    let details = json!({ "deployment": deployment, "label": format!("v{}", row.label), "appVersion": row.app_version });
    audit::note(tx, actor, Event::new(Action::UploadRelease, &row.id).of_app(grant.app()).with(details), &app.dice, now).await?;
    Ok(Committed::Release(next.id, Box::new(row)))
}

/// Stores a release of a deployment that is locked, holds its blobs, and asks for its snapshot. `false`: a blob is gone, and the transaction is to
/// be rolled back. Errors: 409 when the deployment has no room for it.
pub(crate) async fn add(tx: &mut WriteTx, app: &Context, of: &AppId, deployment: &LabelRow, row: &ReleaseRow) -> AppResult<bool> {
    size::admit(tx, app, of, &deployment.id, Change::New(row)).await?;
    // In one order, so that two releases which share both cannot wait for each other in a circle.
    for sha256 in row.manifest_sha256.iter().chain([&row.blob_sha256]).collect::<BTreeSet<_>>() {
        if !blob::hold(tx, of, sha256).await? {
            return Ok(false);
        }
    }
    repo::insert(tx, &NewReleaseRow { deployment: &deployment.id, app: of, row }).await?;
    publish(tx, deployment, row.upload_time).await?;
    Ok(true)
}

/// Asks for the snapshot of a deployment that is locked.
pub(crate) async fn publish(tx: &mut WriteTx, deployment: &LabelRow, now: UnixMillis) -> AppResult<()> {
    let key = DeploymentKey::try_from(deployment.deployment_key.as_str()).map_err(AppError::internal)?;
    outbox::enqueue(tx, &key, now).await
}

/// What became of an upload whose rules hold.
#[derive(Debug)]
pub enum Committed {
    /// It is a release, once the transaction is committed.
    Release(DeploymentId, Box<ReleaseRow>),
    /// A refused upload of the same bytes took the blob back: it must be stored again. The transaction is to be rolled back.
    BlobGone,
}

/// Refuses what the rules of decisions section 3 refuse. Asked twice: before bytes are stored, to spare that work, and inside the transaction.
pub fn check_release<'r>(earlier_newest_first: &'r [RangeRow], range: &Range, package_hash: &PackageHash) -> AppResult<()> {
    if let Some(newest) = earlier_newest_first.first()
        && newest.rollout.is_some()
        && !newest.is_disabled
    {
        let text = format!("the newest release, v{}, is in an unfinished rollout: finish it with 100 or disable it first", newest.label);
        return Err(AppError::Conflict(text));
    }
    // An exact version looks at the newest release that is for it, a range only at the newest of all: what stands between may well be what
    // makes the same contents needed once more.
    // Each text is judged once, however many releases have it.
    let mut judged = HashMap::new();
    let is_current = |release: &&'r RangeRow| {
        *judged.entry(release.app_version.as_str()).or_insert_with(|| {
            let Ok(earlier) = Range::parse(&release.app_version) else { return false };
            range.as_exact().map_or_else(|| earlier.canonical() == range.canonical(), |version| earlier.satisfies(version))
        })
    };
    let current = match range.as_exact() {
        Some(_) => earlier_newest_first.iter().find(is_current),
        None => earlier_newest_first.first().filter(is_current),
    };
    if let Some(current) = current.filter(|release| release.package_hash == *package_hash) {
        let text = format!("the contents are identical to those of the current release for these versions, v{}", current.label);
        return Err(AppError::Conflict(text));
    }
    Ok(())
}

/// The releases of a deployment, oldest first.
pub async fn history(tx: &mut ReadTx, app: &AppId, deployment: &DeploymentId, urls: &DownloadUrls<'_>) -> AppResult<Vec<ReleaseOut>> {
    let mut diffs: BTreeMap<ReleaseId, Vec<DiffRow>> = BTreeMap::new();
    for diff in repo::diffs(tx, deployment).await? {
        diffs.entry(diff.release_id.clone()).or_default().push(diff);
    }
    let releases = repo::history(tx, deployment).await?;
    releases.into_iter().map(|row| out(app, &diffs.remove(&row.id).unwrap_or_default(), row, urls)).collect()
}

/// The release of this name, with signed addresses. Errors: 404.
pub async fn find(tx: &mut ReadTx, app: &AppId, deployment: &DeploymentId, label: Label, urls: &DownloadUrls<'_>) -> AppResult<ReleaseOut> {
    let row = repo::find(tx, deployment, label).await?.ok_or(AppError::NotFound("release"))?;
    let diffs = repo::diffs_of(tx, &row.id).await?;
    out(app, &diffs, row, urls)
}

/// The deployment's newest release.
pub async fn newest(tx: &mut ReadTx, deployment: &DeploymentRow, urls: &DownloadUrls<'_>) -> AppResult<Option<ReleaseOut>> {
    let Some(row) = repo::newest(tx, &deployment.id).await? else { return Ok(None) };
    let diffs = repo::diffs_of(tx, &row.id).await?;
    out(&deployment.app_id, &diffs, row, urls).map(Some)
}

/// A release as answers show it, with signed addresses.
pub fn out(app: &AppId, diffs: &[DiffRow], row: ReleaseRow, urls: &DownloadUrls<'_>) -> AppResult<ReleaseOut> {
    let url = |sha256: &Sha256Hex| download_url(urls, &BlobKey { app: app.clone(), sha256: sha256.clone() });
    Ok(ReleaseOut {
        app_version: row.app_version,
        blob_url: url(&row.blob_sha256),
        description: row.description,
        diff_package_map: diffs
            .iter()
            .map(|diff| (diff.source_hash.to_string(), DiffOut { url: url(&diff.blob_sha256), size: diff.size }))
            .collect(),
        is_disabled: row.is_disabled,
        is_mandatory: row.is_mandatory,
        label: label(row.label)?,
        manifest_blob_url: row.manifest_sha256.as_ref().map(url),
        original_deployment: row.original_deployment,
        original_label: row.original_label.map(label).transpose()?,
        package_hash: row.package_hash,
        released_by: row.released_by,
        release_method: row.release_method,
        rollout: row.rollout,
        size: row.size,
        upload_time: row.upload_time,
    })
}

/// A label by its stored number.
pub(crate) fn label(number: i64) -> AppResult<Label> {
    let label = u32::try_from(number).ok().and_then(Label::new);
    label.ok_or_else(|| AppError::internal(format!("a release is stored with the label number {number}")))
}
