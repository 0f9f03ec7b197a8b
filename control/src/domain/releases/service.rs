//! The rules for releases.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shared::hash::{PackageHash, Sha256Hex};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::time::UnixMillis;
use shared::version::Range;

use super::info::{ReleaseInfo, stored_rollout};
use super::repo::{self, DiffRow, ListFilter, NewReleaseRow, NewestRow, RangeRow, ReleaseRow};
use super::{ReleaseMethod, blob, contents};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ManageReleases, ReadApp};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::deployments::{repo::LockedRow, repo::next_label, service as deployments, snapshots};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::outbox::{self, Kind, Work};
use crate::domain::releases::size;
use crate::infra::db::{Db, ReadTx, WriteTx};

/// The contents of a release: its stored blobs and their hashes.
#[derive(Clone, Debug)]
pub struct StoredPackage {
    /// The hash of the contents.
    pub package_hash: PackageHash,
    /// The bundle.
    pub blob: Sha256Hex,
    /// Its file manifest; `None` for a single-file package.
    pub manifest: Option<Sha256Hex>,
    /// The bundle's size in bytes.
    pub size: u64,
    /// The sizes of the manifest's files, in its order.
    pub file_sizes: Vec<u64>,
}

/// A release with the diffs that lead to it.
#[derive(Clone, Debug)]
pub struct Release {
    /// The release.
    pub row: ReleaseRow,
    /// The diffs.
    pub diffs: Vec<DiffRow>,
}

/// Creates a release from a stored upload. Returns its deployment and row. `None` if a refused upload of the same bytes deleted the blob: store it
/// again, and do not commit the change.
pub async fn create(
    change: &mut Change<'_>,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    info: &ReleaseInfo,
    package: &StoredPackage,
) -> Result<Option<(DeploymentId, ReleaseRow)>> {
    grant.confirm(change).await?;
    let next = next_label(change, grant.app(), deployment).await?.ok_or(Error::NotFound(Thing::Deployment))?;
    // Again: this may have waited for the deployment's lock.
    grant.confirm(change).await?;
    let earlier = repo::ranges(change, &next.id).await?;
    check_release(&earlier, &info.app_version, &package.package_hash)?;
    let now = change.now();
    let row = ReleaseRow {
        id: ReleaseId::v7(now, change.context().entropy.bytes()?),
        label: next.last_label,
        app_version: info.app_version.text().to_owned(),
        description: info.description.as_ref().map(|text| text.as_str().to_owned()),
        is_mandatory: info.is_mandatory,
        is_disabled: info.is_disabled,
        rollout: stored_rollout(info.rollout),
        package_hash: package.package_hash.clone(),
        blob_sha256: package.blob.clone(),
        manifest_sha256: package.manifest.clone(),
        size: i64::try_from(package.size).map_err(Error::internal)?,
        release_method: ReleaseMethod::Upload,
        original_label: None,
        original_deployment: None,
        released_by: grant.email().to_owned(),
        upload_time: now,
    };
    if !add(change, grant.app(), &next, &row).await? {
        return Ok(None);
    }
    if package.manifest.is_some() {
        contents::note_sizes(change, grant.app(), &package.blob, &package.file_sizes).await?;
    }
    Ok(Some((next.id, row)))
}

/// Stores a release of a locked deployment, claims its blobs and enqueues its snapshot. `false` if a blob is gone: roll back. Errors: 409 if the
/// deployment has no room for it.
pub(crate) async fn add(tx: &mut Change<'_>, of: &AppId, deployment: &LockedRow, row: &ReleaseRow) -> Result<bool> {
    let app = tx.context();
    size::check_quota(tx, app, of, &deployment.id, size::Change::New(row)).await?;
    // In a fixed order, so that two releases that share both blobs cannot deadlock.
    for sha256 in row.manifest_sha256.iter().chain([&row.blob_sha256]).collect::<BTreeSet<_>>() {
        if !blob::hold(tx, of, sha256).await? {
            return Ok(false);
        }
    }
    repo::insert(tx, &NewReleaseRow { deployment: &deployment.id, app: of, row }).await?;
    snapshots::enqueue(tx, &deployment.deployment_key, row.upload_time).await?;
    need_diffs(tx, of, row.upload_time).await?;
    Ok(true)
}

/// Has the app's diffs looked at, because what devices are offered changes.
pub(crate) async fn need_diffs(tx: &mut WriteTx, app: &AppId, now: UnixMillis) -> Result<()> {
    Ok(outbox::enqueue(tx, Work { kind: Kind::Diffs, key: app.as_str(), payload: None, due: now }, now).await?)
}

/// Refuses a release while the newest one's rollout is unfinished, and a release with the same contents as the current one for the same binaries.
/// Called twice: before bytes are stored, to save that work, and inside the transaction.
pub fn check_release<'r>(earlier_newest_first: &'r [RangeRow], range: &Range, package_hash: &PackageHash) -> Result<()> {
    if let Some(newest) = earlier_newest_first.first()
        && newest.rollout.is_some()
        && !newest.is_disabled
    {
        return Err(Error::Conflict(Conflict::UnfinishedRollout(newest.label)));
    }
    // An exact version is compared with the newest release that covers it, a range only with the newest of all: releases in between may be the reason
    // why the same contents are needed again. Each distinct range text is evaluated once, however many releases have it.
    let mut validated = HashMap::new();
    let is_current = |release: &&'r RangeRow| {
        *validated.entry(release.app_version.as_str()).or_insert_with(|| {
            let Ok(earlier) = Range::parse(&release.app_version) else { return false };
            range.as_exact().map_or_else(|| earlier.canonical() == range.canonical(), |version| earlier.satisfies(version))
        })
    };
    let current = match range.as_exact() {
        Some(_) => earlier_newest_first.iter().find(is_current),
        None => earlier_newest_first.first().filter(is_current),
    };
    if let Some(current) = current.filter(|release| release.package_hash == *package_hash) {
        return Err(Error::Conflict(Conflict::SameContents(current.label)));
    }
    Ok(())
}

/// Releases read at once. Each may have a description of 30 KB.
const HISTORY_PART: i64 = 100;

/// The releases of a deployment, oldest first, read in parts: together they can have hundreds of megabytes.
#[derive(Debug)]
pub struct History {
    deployment: DeploymentId,
    diffs: BTreeMap<ReleaseId, Vec<DiffRow>>,
    after: i64,
    is_read: bool,
}

impl History {
    /// That of a deployment. Errors: 404.
    pub async fn open(db: &Db, grant: &AppGrant<ReadApp>, deployment: &str) -> Result<Self> {
        let mut tx = db.read().await?;
        let deployment = deployments::find(&mut tx, grant.app(), deployment).await?.id;
        let diffs = by_release(repo::diffs(&mut tx, &deployment).await?);
        Ok(Self { deployment, diffs, after: 0, is_read: false })
    }

    /// Whether everything was read.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// The next releases. One that is added meanwhile is among them; one that is deleted meanwhile is not.
    pub async fn next(&mut self, db: &Db) -> Result<Vec<Release>> {
        let filter = ListFilter { is_ascending: true, ..ListFilter::default() };
        let rows = repo::list(&mut db.read().await?, &self.deployment, &filter, self.after, HISTORY_PART).await?;
        self.is_read = i64::try_from(rows.len()).is_ok_and(|count| count < HISTORY_PART);
        self.after = rows.last().map_or(self.after, |row| row.label);
        Ok(rows.into_iter().map(|row| Release { diffs: self.diffs.remove(&row.id).unwrap_or_default(), row }).collect())
    }
}

fn by_release(diffs: Vec<DiffRow>) -> BTreeMap<ReleaseId, Vec<DiffRow>> {
    let mut by_release: BTreeMap<ReleaseId, Vec<DiffRow>> = BTreeMap::new();
    for diff in diffs {
        by_release.entry(diff.release_id.clone()).or_default().push(diff);
    }
    by_release
}

/// The newest release of each of the app's deployments that has one.
pub async fn newest_of_app(tx: &mut ReadTx, app: &AppId) -> Result<BTreeMap<DeploymentId, Release>> {
    let mut diffs = by_release(repo::diffs_of_newest(tx, app).await?);
    let rows = repo::newest_of_app(tx, app).await?;
    let of = |NewestRow { deployment_id, release: row }| (deployment_id, Release { diffs: diffs.remove(&row.id).unwrap_or_default(), row });
    Ok(rows.into_iter().map(of).collect())
}

/// What devices get of deployments with these newest releases, as far as one release says it: the newest one that is not disabled. A deployment without
/// one is missing.
pub async fn enabled(tx: &mut ReadTx, newest: BTreeMap<DeploymentId, ReleaseRow>) -> Result<BTreeMap<DeploymentId, ReleaseRow>> {
    let (disabled, mut enabled): (BTreeMap<_, _>, BTreeMap<_, _>) = newest.into_iter().partition(|(_, row)| row.is_disabled);
    let earlier = repo::newest_enabled_of(tx, &disabled.keys().collect::<Vec<_>>()).await?;
    enabled.extend(earlier.into_iter().map(|NewestRow { deployment_id, release }| (deployment_id, release)));
    Ok(enabled)
}

/// The release with this label. Errors: 404.
pub async fn find(tx: &mut ReadTx, grant: &AppGrant<ReadApp>, deployment: &str, label: Label) -> Result<Release> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    let row = repo::find(tx, &deployment.id, label).await?.ok_or(Error::NotFound(Thing::Release))?;
    Ok(Release { diffs: repo::diffs_of(tx, &row.id).await?, row })
}

/// The release with this label, and the release of the deployment that it replaced: the one before it. Errors: 404.
pub async fn with_previous(
    tx: &mut ReadTx,
    grant: &AppGrant<ReadApp>,
    deployment: &str,
    label: Label,
) -> Result<(ReleaseRow, Option<ReleaseRow>)> {
    let deployment = deployments::find(tx, grant.app(), deployment).await?;
    let row = repo::find(tx, &deployment.id, label).await?.ok_or(Error::NotFound(Thing::Release))?;
    let before = repo::before(tx, &deployment.id, row.label).await?;
    Ok((row, before))
}

/// The deployment's newest release.
pub async fn newest(tx: &mut ReadTx, deployment: &DeploymentId) -> Result<Option<Release>> {
    let Some(row) = repo::newest(tx, deployment).await? else { return Ok(None) };
    Ok(Some(Release { diffs: repo::diffs_of(tx, &row.id).await?, row }))
}

/// The label for a stored number.
pub(crate) fn label(number: i64) -> Result<Label> {
    let label = u32::try_from(number).ok().and_then(Label::new);
    label.ok_or_else(|| Error::internal(format!("a stored release has the invalid label number {number}")))
}
