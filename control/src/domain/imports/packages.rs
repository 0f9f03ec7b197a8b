//! Packages that an app's owner sends for an import, one by one. Nobody sees them before the history that they belong to is imported, or they expire.

use std::sync::Arc;

use shared::time::UnixMillis;

use super::repo::{self, PackageRow};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::OwnApp;
use crate::domain::accounts;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::blob::{Purpose, Use};
use crate::domain::releases::upload::{self, Bundle};
use crate::domain::releases::{UploadAllowance, blob, contents, unused};

/// How long a package waits for its history, in milliseconds.
const WAITING: i64 = 3 * 86_400_000;
/// How long after its last use a package may still be in use, in milliseconds.
const IN_USE: i64 = 3_600_000;
/// Packages cleaned up at once.
const BATCH: i64 = 20;

/// Checks whether there is room for a package, before its body is read. `length` is the body's length, if known. Returns the largest package in bytes.
/// Errors: 404, 409, 413.
pub async fn accept(app: &Context, grant: &AppGrant<OwnApp>, length: Option<u64>) -> Result<u64> {
    let mut tx = app.db.read().await?;
    if repo::source(&mut tx, grant.app()).await?.is_none() {
        return Err(Error::Conflict(Conflict::NotImported));
    }
    let limit = accounts::repo::max_upload_bytes(&mut tx, grant.namespace()).await?.ok_or(Error::NotFound(Thing::App))?;
    let limit = u64::try_from(limit).unwrap_or(0);
    if length.is_some_and(|length| length > limit) {
        return Err(upload::too_large(limit));
    }
    app.settings.limits.quotas.check_stored_bytes(&mut tx, grant.app(), length.unwrap_or(1).max(1)).await?;
    Ok(limit)
}

/// Checks a package as an upload is checked, and keeps it for a while. It runs to the end even if the client disconnects. Errors: 400 for the file; 401,
/// 403, 404, 409.
pub async fn keep(app: Arc<Context>, grant: AppGrant<OwnApp>, allowance: UploadAllowance, bundle: Bundle) -> Result<PackageRow> {
    let kept = store(&app, &grant, bundle).await;
    // Only now: the file was on disk until here.
    drop(allowance);
    kept
}

async fn store(app: &Context, grant: &AppGrant<OwnApp>, bundle: Bundle) -> Result<PackageRow> {
    let Bundle { file, size, sha256 } = bundle;
    // Before the work: the right may be gone since the headers came.
    grant.recheck(&mut app.db.read().await?, app).await?;
    let (file, found) = upload::inspect(app, file, size, sha256.clone()).await?;
    let manifest = match &found.manifest {
        Some(manifest) => Some(upload::write_manifest(app.storage.temp_dir(), manifest).await?),
        None => None,
    };
    let mut stored = vec![upload::store(app, grant.app(), &sha256, file.path(), Purpose::Package).await?];
    let kept = async {
        if let Some((file, sha256)) = &manifest {
            stored.push(upload::store(app, grant.app(), sha256, file.path(), Purpose::Package).await?);
        }
        let row = PackageRow {
            app_id: grant.app().clone(),
            sha256: sha256.clone(),
            package_hash: found.package_hash.clone(),
            hash_with_directories: found.hash_with_directories(),
            manifest_sha256: manifest.as_ref().map(|(_, sha256)| sha256.clone()),
            size: i64::try_from(size).map_err(Error::internal)?,
            stamp: stored.first().map_or(0, |(_, used)| own_stamp(*used)),
            manifest_stamp: stored.get(1).map(|(_, used)| own_stamp(*used)),
            expires: app.now().plus_millis(WAITING),
        };
        let mut change = grant.begin(app).await?;
        // The stored bytes already include the package.
        app.settings.limits.quotas.check_stored_bytes(&mut change, grant.app(), 0).await?;
        if found.manifest.is_some() {
            contents::note_sizes(&mut change, grant.app(), &sha256, &found.sizes).await?;
        }
        repo::keep_package(&mut change, &row).await?;
        // Nothing that anyone sees has changed.
        change.commit_bookkeeping().await?;
        Ok(row)
    }
    .await;
    if kept.is_err() {
        for stored in &stored {
            upload::take_back(app, grant.app(), stored).await;
        }
    }
    kept
}

/// Deletes packages that have waited too long, unless something uses them by now. A failure is logged, and the next round tries again. Returns whether
/// there may be more.
pub async fn expire(app: &Context, now: UnixMillis) -> Result<bool> {
    let due = repo::due_packages(&mut app.db.read().await?, now, BATCH).await?;
    let mut count = 0;
    for row in &due {
        match expire_one(app, row, now).await {
            Ok(()) => count += 1,
            Err(error) => {
                tracing::warn!(cause = %crate::domain::error::chain(&error), "failed to delete a package that waited for an import");
            }
        }
    }
    Ok(count > 0 && i64::try_from(due.len()).unwrap_or(BATCH) >= BATCH)
}

async fn expire_one(app: &Context, row: &PackageRow, now: UnixMillis) -> Result<()> {
    let mut tx = app.db.write().await?;
    let mut is_in_use = false;
    for sha256 in row.manifest_sha256.iter().chain([&row.sha256]) {
        // Stamps are times, unless two uses had the same one.
        is_in_use |= blob::stamp(&mut tx, &row.app_id, sha256).await?.is_some_and(|stamp| stamp > now.0.saturating_sub(IN_USE));
    }
    if is_in_use {
        // An upload of the same bytes may be under way.
        repo::postpone_package(&mut tx, row, now.plus_millis(IN_USE)).await?;
        return Ok(tx.commit().await?);
    }
    // Not if it was sent again meanwhile.
    let is_forgotten = repo::forget_package(&mut tx, row).await? > 0;
    tx.commit().await?;
    if !is_forgotten {
        return Ok(());
    }
    // Only what nobody has used before or since. The rest is left to the deletion of unused blobs, as is what an interruption leaves.
    let manifest = row.manifest_sha256.as_ref().zip(row.manifest_stamp);
    for (sha256, stamp) in manifest.into_iter().chain([(&row.sha256, row.stamp)]) {
        unused::delete(app, &row.app_id, sha256, stamp).await?;
    }
    Ok(())
}

/// The stamp of a use, by which the blob may be deleted later. Of a blob that was there before, its negative, which no blob has.
fn own_stamp(used: Use) -> i64 {
    if used.is_first { used.stamp } else { -used.stamp }
}
