//! Uploads: the bytes go to a temporary file, hashed and limited as they arrive; then they are checked, stored and committed.
//!
//! A refused upload leaves nothing behind: the temporary file is deleted when its guard is dropped, the blob by `take_back`.

use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use serde_json::json;
use sha2::{Digest, Sha256};
use shared::FieldErrors;
use shared::archive::{self, ArchiveFault, Contents};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::{AppId, DeploymentId};
use shared::package::{Manifest, is_bundle, is_single_bundle};
use shared::text::nfc;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;

use super::blob::{Purpose, Use};
use super::info::ReleaseInfo;
use super::repo::{self, ReleaseRow};
use super::service::{self, StoredPackage};
use super::{UploadAllowance, blob, parts, unused};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::context::Context;
use crate::domain::deployments::{repo as deployment_rows, service as deployments};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::idempotency::{self, Answer, Attempt, IdempotencyKey};

/// Maximum size of the rest of the body, besides the file: boundaries, headers, `packageInfo`.
const BODY_OVERHEAD: u64 = 1 << 20;

/// How often to store the bytes before giving up. Each retry means that another upload of the same bytes was refused between this upload's store and
/// its commit.
const MAX_STORES: usize = 5;

/// How long to wait before each look at the blob, for the deletion of an earlier object with the same bytes: three seconds in all.
const DELETION_WAITS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(1_200),
];

/// A blob that was stored, and the use of it.
pub(crate) type Stored = (Sha256Hex, Use);

/// An upload that was accepted before its body is read.
#[derive(Debug)]
pub struct AcceptedUpload {
    /// The deployment that the name refers to when the upload starts. `None` if there is none; then the request can only be a repeated one.
    deployment: Option<DeploymentId>,
    /// The request's idempotency key.
    key: Option<IdempotencyKey>,
    /// The largest bundle allowed, in bytes.
    pub limit: u64,
}

impl AcceptedUpload {
    /// The deployment that the upload goes to.
    pub fn deployment(&self) -> Option<&DeploymentId> {
        self.deployment.as_ref()
    }

    /// The largest request body allowed, in bytes.
    pub fn largest_body(&self) -> u64 {
        self.limit.saturating_add(BODY_OVERHEAD)
    }
}

/// A complete bundle in a temporary file.
#[derive(Debug)]
pub struct Bundle {
    pub(crate) file: NamedTempFile,
    pub(crate) size: u64,
    pub(crate) sha256: Sha256Hex,
}

/// A complete upload.
#[derive(Debug)]
pub struct Received {
    /// The checks it passed before its body was read.
    pub accepted: AcceptedUpload,
    /// The bundle.
    pub bundle: Bundle,
    /// Its metadata.
    pub info: ReleaseInfo,
    /// The file's name, if the package must have something that SDKs run. In a form, it is easy to choose a wrong file.
    pub checked_name: Option<String>,
}

/// Checks whether there is room for an upload, before its body is read. `length` is the body's length, if known. Errors: 404, 409, 413.
///
/// An upload whose key is in use is read in any case: it is answered without storing anything, or refused.
pub async fn accept(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    length: Option<u64>,
    key: Option<IdempotencyKey>,
) -> Result<AcceptedUpload> {
    let mut tx = app.db.read().await?;
    let is_repeated = match &key {
        Some(key) => idempotency::is_used(&mut tx, grant.account(), key, app.now()).await?,
        None => false,
    };
    let found = deployment_rows::find(&mut tx, grant.app(), deployment).await?.map(|row| row.id);
    if found.is_none() && !is_repeated {
        return Err(Error::NotFound(Thing::Deployment));
    }
    let limit = accounts::repo::max_upload_bytes(&mut tx, grant.namespace()).await?.ok_or(Error::NotFound(Thing::App))?;
    let accepted = AcceptedUpload { deployment: found, key, limit: u64::try_from(limit).unwrap_or(0) };
    if length.is_some_and(|length| length > accepted.largest_body()) {
        return Err(too_large(accepted.limit));
    }
    if is_repeated {
        return Ok(accepted);
    }
    // Before the body takes any space here. How much of it is the file is only known later, and checked again then; it is at least one byte.
    let min_bytes = length.map_or(1, |length| length.saturating_sub(BODY_OVERHEAD).max(1));
    app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), min_bytes).await?;
    Ok(accepted)
}

/// Reads a bundle of at most `limit` bytes into a temporary file of the storage. Errors: 413.
pub async fn receive(app: &Context, limit: u64, mut chunks: impl Stream<Item = Result<Bytes>> + Unpin) -> Result<Bundle> {
    let file = NamedTempFile::new_in(app.storage.temp_dir()).map_err(Error::unavailable)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(Error::unavailable)?);
    let (mut hasher, mut size) = (Sha256::new(), 0_u64);
    while let Some(chunk) = chunks.try_next().await? {
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large(limit));
        }
        hasher.update(&chunk);
        writer.write_all(&chunk).await.map_err(Error::unavailable)?;
    }
    writer.flush().await.map_err(Error::unavailable)?;
    Ok(Bundle { file, size, sha256: Sha256Hex::from_digest(hasher.finalize().into()) })
}

/// Creates a release from a received upload. It is all or nothing, and runs to the end even if the client disconnects: it owns what it needs. Errors:
/// 400 for the file; 403, 404; 409 by the rules for releases.
pub async fn release(
    app: Arc<Context>,
    grant: AppGrant<ManageReleases>,
    allowance: UploadAllowance,
    deployment: String,
    received: Received,
) -> Result<Answer<ReleaseRow>> {
    let stored = store_and_commit(&app, &grant, &deployment, received).await;
    // Only now: the file was on disk until here, even if the client disconnected.
    drop(allowance);
    stored
}

/// Checks the file, stores it and creates the release.
async fn store_and_commit(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    deployment: &str,
    received: Received,
) -> Result<Answer<ReleaseRow>> {
    let Received { accepted, bundle: Bundle { file, size, sha256 }, info, checked_name } = received;
    let parts = ("upload", grant.app(), nfc(deployment), info.parts(), &sha256);
    let attempt = Attempt::new(grant.account(), accepted.key.as_ref(), &parts)?;
    // The body may have taken a long time. A caller who lost the right to upload must not cost an inspection; the transaction below checks again.
    {
        let mut tx = app.db.read().await?;
        grant.recheck(&mut tx, app).await?;
        if let Some(row) = attempt.earlier(&mut tx, app.now()).await? {
            return Ok(Answer::repeated(row));
        }
        // Before anything is stored; checked again in the transaction, with what was stored meanwhile.
        app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), size).await?;
    }
    let (file, contents) = inspect(app, file, size, sha256.clone()).await?;
    if let Some(name) = checked_name {
        check_runs(&name, &contents)?;
    }
    let (manifest_file, manifest) = match &contents.manifest {
        Some(manifest) => {
            let (file, sha256) = write_manifest(app.storage.temp_dir(), manifest).await?;
            (Some(file), Some(sha256))
        }
        None => (None, None),
    };
    let package = StoredPackage { package_hash: contents.package_hash, blob: sha256, manifest, size, file_sizes: contents.sizes };
    {
        let mut tx = app.db.read().await?;
        // From the same snapshot as the releases: the release of the same request sent twice would be a reason to refuse this one.
        if let Some(row) = attempt.earlier(&mut tx, app.now()).await? {
            grant.recheck(&mut tx, app).await?;
            return Ok(Answer::repeated(row));
        }
        let row = deployments::find(&mut tx, grant.app(), deployment).await?;
        service::check_release(&repo::ranges(&mut tx, &row.id).await?, &info.app_version, &package.package_hash)?;
    }
    for _ in 0..MAX_STORES {
        let mut stored = Vec::new();
        let committed = async {
            stored.push(store(app, grant.app(), &package.blob, file.path(), Purpose::Package).await?);
            if let (Some(sha256), Some(file)) = (&package.manifest, &manifest_file) {
                stored.push(store(app, grant.app(), sha256, file.path(), Purpose::Package).await?);
            }
            let mut change = grant.begin(app).await?;
            if let Some(row) = attempt.claim(&mut change).await? {
                grant.confirm(&mut change).await?;
                return Ok(Some(Answer::repeated(row)));
            }
            // The stored bytes already include the bundle.
            app.settings.limits.quotas.check_stored_bytes(&mut change, grant.app(), 0).await?;
            let Some((released_in, row)) = service::create(&mut change, grant, deployment, &info, &package).await? else { return Ok(None) };
            // Deployments renamed during the upload must not get each other's releases.
            if accepted.deployment.as_ref() != Some(&released_in) {
                return Err(Error::NotFound(Thing::Deployment));
            }
            attempt.complete(&mut change, &row).await?;
            let details = json!({ "deployment": deployment, "label": format!("v{}", row.label), "appVersion": row.app_version });
            change.commit(Event::new(Action::UploadRelease, &row.id).of_app(grant.app()).with(details)).await?;
            tracing::info!(deployment.id = released_in.as_str(), release.label = row.label, release.size = row.size, "release uploaded");
            Ok(Some(Answer::new(row)))
        };
        let Some(ended) = committed.await.transpose() else { continue };
        // Neither a refused upload nor a repeated one needs what it stored.
        let is_released = ended.as_ref().is_ok_and(|answer| !answer.is_repeated);
        if !is_released {
            for stored in &stored {
                take_back(app, grant.app(), stored).await;
            }
        }
        return ended;
    }
    Err(Error::unavailable("other uploads of the same bytes kept being refused"))
}

/// Checks that SDKs find something to run in a package. Errors: 400.
fn check_runs(name: &str, contents: &Contents) -> Result<()> {
    let runs = match &contents.manifest {
        Some(manifest) => manifest.iter().any(|(name, _)| is_bundle(name)),
        None if name.to_ascii_lowercase().ends_with(".zip") => return Err(Error::invalid("package", "is not a ZIP archive")),
        None => is_single_bundle(name),
    };
    let text = "has no JavaScript bundle (*.bundle, *.jsbundle, *.hbc) and no index.html, so devices would find nothing to run. Choose the archive of \
        the build folder, or release it anyway";
    if runs { Ok(()) } else { Err(Error::invalid("package", text)) }
}

/// Inspects the file off the async threads, because inflating and hashing a large bundle takes seconds. At most as many files at once as there are
/// cores: the permit moves into the task, which continues even if nobody waits for it anymore.
pub(crate) async fn inspect(app: &Context, file: NamedTempFile, size: u64, sha256: Sha256Hex) -> Result<(NamedTempFile, Contents)> {
    let permit = Arc::clone(&app.inspections).acquire_owned().await.map_err(Error::internal)?;
    let limits = app.settings.limits.archive.clone();
    let inspected = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut reader = file.reopen().map_err(ArchiveFault::Read)?;
        archive::inspect(&mut reader, size, sha256, &limits).map(|contents| (file, contents))
    });
    match inspected.await.map_err(Error::internal)? {
        Ok(inspected) => Ok(inspected),
        Err(ArchiveFault::Refused(text)) => Err(Error::invalid("package", text)),
        Err(fault @ ArchiveFault::Read(_)) => Err(Error::unavailable(fault)),
    }
}

/// Records the blob's use, then stores the object unless it exists. Returns what [`take_back`] needs.
pub(crate) async fn store(app: &Context, of: &AppId, sha256: &Sha256Hex, file: &Path, purpose: Purpose) -> Result<Stored> {
    let size = tokio::fs::metadata(file).await.map_err(Error::unavailable)?.len();
    let used = touch(app, of, sha256, i64::try_from(size).map_err(Error::internal)?, purpose).await?;
    let key = BlobKey { app: of.clone(), sha256: sha256.clone() };
    let put = async {
        // A diff is only made if there is none, or if its bytes were lost: an object of this length may be damaged.
        if purpose == Purpose::Package && app.storage.length(&key).await.map_err(Error::unavailable)? == Some(size) {
            return Ok(());
        }
        // Storage moves the file it is given; keep the original in case the blob is deleted before the release claims it.
        let given = file.with_extension("put");
        give(file, &given).await.map_err(Error::unavailable)?;
        let put = parts::put(&app.db, &app.storage, app.now(), &key, &given, size).await;
        if put.is_err() {
            drop(tokio::fs::remove_file(&given).await);
        }
        put
    };
    let stored = (sha256.clone(), used);
    if let Err(error) = put.await {
        take_back(app, of, &stored).await;
        return Err(error);
    }
    Ok(stored)
}

/// Makes a second file with the same bytes: a link if the file system has them, else a copy.
async fn give(file: &Path, given: &Path) -> io::Result<()> {
    // An import that was killed leaves its link. It may be one to this very file, which a copy onto it would empty.
    match tokio::fs::remove_file(given).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match tokio::fs::hard_link(file, given).await {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => tokio::fs::copy(file, given).await.map(drop),
        linked => linked,
    }
}

/// Records the blob's use. While its object is being deleted, it waits for the end of that. Errors: 503 if that takes long.
async fn touch(app: &Context, of: &AppId, sha256: &Sha256Hex, size: i64, purpose: Purpose) -> Result<Use> {
    for wait in DELETION_WAITS {
        tokio::time::sleep(wait).await;
        let mut tx = app.db.write().await?;
        let used = blob::touch(&mut tx, of, sha256, size, purpose, app.now()).await?;
        tx.commit().await?;
        if let Some(used) = used {
            return Ok(used);
        }
    }
    Err(Error::unavailable("the earlier object with the same bytes is still being deleted"))
}

/// Deletes a blob that a refused upload has stored, unless somebody else has used it before or since: then it is left to the deletion of unused blobs. A failure
/// is only logged, for the same reason.
pub(crate) async fn take_back(app: &Context, of: &AppId, (sha256, used): &Stored) {
    if !used.is_first {
        return;
    }
    if let Err(error) = unused::delete(app, of, sha256, used.stamp).await {
        tracing::warn!(cause = %crate::domain::error::chain(&error), "failed to delete the blob of a refused upload");
    }
}

pub(crate) async fn write_manifest(folder: &Path, manifest: &Manifest) -> Result<(NamedTempFile, Sha256Hex)> {
    let text = manifest.to_json();
    let sha256 = Sha256Hex::of(text.as_bytes());
    let folder = folder.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok::<_, std::io::Error>(file)
    });
    Ok((written.await.map_err(Error::internal)?.map_err(Error::unavailable)?, sha256))
}

/// The error for a bundle that is too large. 413.
pub fn too_large(limit: u64) -> Error {
    Error::TooLarge(FieldErrors::of("package", format!("must be at most {limit} bytes")))
}
