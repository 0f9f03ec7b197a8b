//! An upload on its way: multipart to a temporary file, hashed and limited while it streams; checked; stored; committed.
//!
//! Whatever refuses an upload, nothing of it remains: the temporary file goes when its guard is dropped, the blob by `take_back`.

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::multipart::{Field, Multipart, MultipartRejection};
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use sha2::{Digest, Sha256};
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::DeploymentId;
use shared::package::Manifest;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;

use super::archive::{self, ArchiveFault, Contents};
use super::blob;
use super::info::ReleaseInfo;
use super::meter::{self, Meter};
use super::repo::{self, ReleaseRow};
use super::service::{self, Committed, StoredPackage};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::accounts;
use crate::domain::audit::Actor;
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult};
use shared::FieldErrors;

/// The largest `packageInfo`, in bytes: a description of 10,000 UTF-16 units, every one of them escaped, and the rest.
const MAX_INFO: usize = 128 << 10;

/// What multipart adds to the file: boundaries, headers, `packageInfo`.
const MULTIPART_EXTRA: u64 = 1 << 20;

/// How often the bytes are stored before the upload is given up: each time but the last, another upload of the same bytes was refused just
/// between this one's storing and its commit.
const MOST_STORES: usize = 5;

/// An upload that has arrived whole.
#[derive(Debug)]
pub struct Received {
    /// What the name meant when the upload began.
    deployment: DeploymentId,
    file: NamedTempFile,
    size: u64,
    sha256: Sha256Hex,
    info: ReleaseInfo,
}

/// Reads the multipart body into a temporary file of the store, unless its head says already that there is no room for it.
pub async fn receive(app: &Context, grant: &AppGrant<ManageReleases>, deployment: &str, request: Request) -> AppResult<Received> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let (deployment, limit) = {
        let mut tx = app.db.read().await?;
        let row = deployments::find(&mut tx, grant.app(), deployment).await?;
        let limit = accounts::repo::max_upload_bytes(&mut tx, grant.namespace()).await?.ok_or(AppError::NotFound("app"))?;
        let limit = u64::try_from(limit).unwrap_or(0);
        if length.is_some_and(|length| length > limit.saturating_add(MULTIPART_EXTRA)) {
            return Err(too_large(limit));
        }
        // Before the body takes any room here. How much of it is the file shows later, and is checked again then; one byte it has in any case.
        let least = length.map_or(1, |length| length.saturating_sub(MULTIPART_EXTRA).max(1));
        app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), least).await?;
        (row.id, limit)
    };
    // Nothing at all is of no wrong type; it only lacks both parts.
    if request.body().is_end_stream() {
        return Err(missing(true, Some(no_info())).into());
    }
    let (request, meter) = meter::watch(request, limit.saturating_add(MULTIPART_EXTRA));
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|rejection| rejected(&rejection))?;
    let (mut file, mut info) = (None, None);
    while let Some(field) = multipart.next_field().await.map_err(|error| meter.fault(&error, limit))? {
        match field.name() {
            Some("package") if file.is_none() => file = Some(receive_file(app.storage.temp_dir(), field, &meter, limit).await?),
            Some("packageInfo") if info.is_none() => info = Some(ReleaseInfo::parse(&receive_info(field, &meter, limit).await?)),
            Some(name @ ("package" | "packageInfo")) => {
                let field = if name == "package" { "package" } else { "packageInfo" };
                return Err(AppError::invalid(field, "stands there twice"));
            }
            _ => skip(field, &meter, limit).await?,
        }
    }
    match (file, info) {
        (Some((file, size, sha256)), Some(Ok(info))) => Ok(Received { deployment, file, size, sha256, info }),
        (file, info) => {
            let info_fault = match info {
                None => Some(no_info()),
                Some(info) => info.err(),
            };
            Err(missing(file.is_none(), info_fault).into())
        }
    }
}

fn no_info() -> FieldErrors {
    FieldErrors::of("packageInfo", "a part with JSON text is needed")
}

/// What is wrong with the parts: whether there is no file, and what is wrong with the other one.
fn missing(has_no_file: bool, info: Option<FieldErrors>) -> FieldErrors {
    let mut errors = if has_no_file { FieldErrors::of("package", "a file part is needed") } else { FieldErrors::default() };
    errors.extend(info.unwrap_or_default());
    errors
}

/// Checks the file, stores it and makes the release.
pub async fn store_and_commit(
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    deployment: &str,
    received: Received,
) -> AppResult<(DeploymentId, ReleaseRow)> {
    let Received { deployment: meant, file, size, sha256, info } = received;
    // The body may have taken long. Whoever may no longer upload is not to cost an inspection; the transaction below asks again.
    {
        let mut tx = app.db.read().await?;
        grant.judge(&mut tx, app).await?;
        // Before anything is stored; again in the transaction, with what was stored meanwhile.
        app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), size).await?;
    }
    let (file, contents) = inspect(app, file, size, sha256.clone()).await?;
    let (manifest_file, manifest) = match &contents.manifest {
        Some(manifest) => {
            let (file, sha256) = write_manifest(app.storage.temp_dir(), manifest).await?;
            (Some(file), Some(sha256))
        }
        None => (None, None),
    };
    let package = StoredPackage { package_hash: contents.package_hash, blob: sha256, manifest, size };
    {
        let mut tx = app.db.read().await?;
        let row = deployments::find(&mut tx, grant.app(), deployment).await?;
        service::check_release(&repo::ranges(&mut tx, &row.id).await?, &info.app_version, &package.package_hash)?;
    }
    for _ in 0..MOST_STORES {
        let mut stored = Vec::new();
        let committed = async {
            stored.push(store(app, grant, &package.blob, &file).await?);
            if let (Some(sha256), Some(file)) = (&package.manifest, &manifest_file) {
                stored.push(store(app, grant, sha256, file).await?);
            }
            let mut tx = grant.begin_tx(app).await?;
            // The bundle is among what is stored.
            app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), 0).await?;
            let committed = service::commit(&mut tx, app, grant, actor, deployment, &info, &package).await?;
            if let Committed::Release(released_in, _) = &committed {
                // Deployments that changed their names while the bundle came must not get each other's releases.
                if *released_in != meant {
                    return Err(AppError::NotFound("deployment"));
                }
                tx.commit().await?;
            }
            Ok(committed)
        };
        match committed.await {
            Ok(Committed::Release(deployment, row)) => return Ok((deployment, *row)),
            Ok(Committed::BlobGone) => {}
            Err(error) => {
                for (sha256, stamp) in &stored {
                    take_back(app, grant, sha256, *stamp).await;
                }
                return Err(error);
            }
        }
    }
    Err(AppError::unavailable("other uploads of the same bytes were refused again and again"))
}

/// Inspects the file off the async threads, since inflating and hashing a large bundle takes seconds, and only so many files at once as there
/// are cores: the permit goes with the work, which goes on when nobody waits for it any more.
async fn inspect(app: &Context, file: NamedTempFile, size: u64, sha256: Sha256Hex) -> AppResult<(NamedTempFile, Contents)> {
    let permit = Arc::clone(&app.inspections).acquire_owned().await.map_err(AppError::internal)?;
    let limits = app.settings.limits.archive.clone();
    let inspected = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut reader = file.reopen().map_err(ArchiveFault::Read)?;
        archive::inspect(&mut reader, size, sha256, &limits).map(|contents| (file, contents))
    });
    match inspected.await.map_err(AppError::internal)? {
        Ok(inspected) => Ok(inspected),
        Err(ArchiveFault::Refused(text)) => Err(AppError::invalid("package", text)),
        Err(fault @ ArchiveFault::Read(_)) => Err(AppError::unavailable(fault)),
    }
}

/// Notes the blob's use, then stores the object unless it is there; gives what [`take_back`] needs.
async fn store(app: &Context, grant: &AppGrant<ManageReleases>, sha256: &Sha256Hex, file: &NamedTempFile) -> AppResult<(Sha256Hex, i64)> {
    let size = file.as_file().metadata().map_err(AppError::unavailable)?.len();
    let mut tx = app.db.write().await?;
    let stamp = blob::touch(&mut tx, grant.app(), sha256, i64::try_from(size).map_err(AppError::internal)?, app.now()).await?;
    tx.commit().await?;
    let key = BlobKey { app: grant.app().clone(), sha256: sha256.clone() };
    let put = async {
        if app.storage.length(&key).await? == Some(size) {
            return Ok(());
        }
        // The store takes away what it is given; the file itself is kept, in case the blob is gone again before the release holds it.
        let given = file.path().with_extension("put");
        if tokio::fs::hard_link(file.path(), &given).await.is_err() {
            tokio::fs::copy(file.path(), &given).await?;
        }
        let put = app.storage.put_file(&key, &given).await;
        if put.is_err() {
            drop(tokio::fs::remove_file(&given).await);
        }
        put
    };
    if let Err(error) = put.await {
        take_back(app, grant, sha256, stamp).await;
        return Err(AppError::unavailable(error));
    }
    Ok((sha256.clone(), stamp))
}

/// Removes a blob that a refused upload stored, unless something else uses it. A failure is only logged: the upload is refused already, and the
/// row without references is what a clean-up goes by.
async fn take_back(app: &Context, grant: &AppGrant<ManageReleases>, sha256: &Sha256Hex, stamp: i64) {
    let removed = async {
        let mut tx = app.db.write().await?;
        if blob::discard(&mut tx, grant.app(), sha256, stamp).await? {
            let key = BlobKey { app: grant.app().clone(), sha256: sha256.clone() };
            app.storage.delete(&key).await.map_err(AppError::unavailable)?;
        }
        tx.commit().await?;
        Ok::<(), AppError>(())
    };
    if let Err(error) = removed.await {
        tracing::warn!(cause = %crate::domain::error::chain(&error), "a refused upload's blob could not be removed");
    }
}

async fn receive_file(folder: &Path, mut field: Field<'_>, meter: &Meter, limit: u64) -> AppResult<(NamedTempFile, u64, Sha256Hex)> {
    let file = NamedTempFile::new_in(folder).map_err(AppError::unavailable)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(AppError::unavailable)?);
    let (mut hasher, mut size) = (Sha256::new(), 0_u64);
    while let Some(chunk) = field.chunk().await.map_err(|error| meter.fault(&error, limit))? {
        meter.took(chunk.len());
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large(limit));
        }
        hasher.update(&chunk);
        writer.write_all(&chunk).await.map_err(AppError::unavailable)?;
    }
    writer.flush().await.map_err(AppError::unavailable)?;
    Ok((file, size, Sha256Hex::from_digest(hasher.finalize().into())))
}

async fn receive_info(mut field: Field<'_>, meter: &Meter, limit: u64) -> AppResult<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| meter.fault(&error, limit))? {
        meter.took(chunk.len());
        if text.len() + chunk.len() > MAX_INFO {
            return Err(AppError::TooLarge(format!("packageInfo: must be at most {MAX_INFO} bytes")));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// A part that nobody asked for is read past, within the bundle's limit.
async fn skip(mut field: Field<'_>, meter: &Meter, limit: u64) -> AppResult<()> {
    let mut size = 0_u64;
    while let Some(chunk) = field.chunk().await.map_err(|error| meter.fault(&error, limit))? {
        meter.took(chunk.len());
        size += chunk.len() as u64;
        if size > limit {
            return Err(too_large(limit));
        }
    }
    Ok(())
}

async fn write_manifest(folder: &Path, manifest: &Manifest) -> AppResult<(NamedTempFile, Sha256Hex)> {
    let text = manifest.to_json();
    let sha256 = Sha256Hex::of(text.as_bytes());
    let folder = folder.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok::<_, std::io::Error>(file)
    });
    Ok((written.await.map_err(AppError::internal)?.map_err(AppError::unavailable)?, sha256))
}

pub(crate) fn too_large(limit: u64) -> AppError {
    AppError::TooLarge(format!("package: must be at most {limit} bytes"))
}

fn rejected(rejection: &MultipartRejection) -> AppError {
    match rejection.status() {
        StatusCode::BAD_REQUEST if matches!(rejection, MultipartRejection::InvalidBoundary(_)) => {
            AppError::WrongType("the body must be multipart/form-data with a boundary")
        }
        _ => AppError::Invalid(FieldErrors::of_request("the multipart body cannot be read")),
    }
}
