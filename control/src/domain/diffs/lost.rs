//! Diffs whose stored object is missing or altered. They are dropped, so that devices download the whole bundle, and made again.
//!
//! A failed download is only a hint: clients disconnect, networks break, and a diff may have been made again since the download began. So the object is
//! read once more, and a diff is dropped only if nobody has used its object since. Neither a storage that does not answer nor a part of an object is
//! evidence.

use std::io;
use std::time::Duration;

use sha2::{Digest, Sha256};
use shared::hash::{BlobKey, Sha256Hex};
use shared::time::UnixMillis;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::repo;
use crate::domain::access;
use crate::domain::context::Context;
use crate::domain::deployments::{repo as deployments, snapshots};
use crate::domain::error::{Error, Result};
use crate::domain::releases::blob;
use crate::domain::releases::service::need_diffs;
use crate::infra::db::Db;
use crate::infra::storage::Storage;

/// How long reading an object may take.
const READING: Duration = Duration::from_mins(10);
/// Bytes that are read at once.
const BUFFER: usize = 128 << 10;

/// Drops the diff with this key if its object is missing or altered, and has it made again. Returns whether it did; not for other objects, nor for a diff
/// that is as it was stored. Errors: the database's and the storage's.
pub async fn check(app: &Context, key: &BlobKey) -> Result<bool> {
    let Some(stamp) = repo::stamp_of_needed(&mut app.db.read().await?, &key.app, &key.sha256).await? else { return Ok(false) };
    let read = timeout(READING, is_lost(&app.storage, key)).await;
    if !read.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(Error::unavailable)? {
        return Ok(false);
    }
    let is_dropped = drop_unless_used(&app.db, key, stamp, app.now()).await?;
    if is_dropped {
        tracing::warn!(app.id = %key.app, sha256 = %key.sha256, "the stored object of a diff is missing or altered; it is dropped, and the server makes it again");
        app.publisher.wake();
        app.differ.wake();
    }
    Ok(is_dropped)
}

/// Whether the storage has no such object, or one with other bytes.
async fn is_lost(storage: &Storage, key: &BlobKey) -> io::Result<bool> {
    let Some(mut reader) = storage.open(key, None).await? else {
        // A folder that is not mounted, or a wrong bucket, has nothing either.
        return storage.probe().await.map(|()| true);
    };
    let (mut hasher, mut buffer, mut length) = (Sha256::new(), vec![0; BUFFER], 0_u64);
    loop {
        let count = reader.read(&mut buffer).await?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        hasher.update(bytes);
        length += bytes.len() as u64;
    }
    if length != reader.total_length() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Sha256Hex::from_digest(hasher.finalize().into()) != key.sha256)
}

/// Drops the diff with this key in all releases of the app, and has the diffs of the app looked at. Returns whether it did; not if the object was used since
/// the use with this stamp, because it may have been replaced.
pub async fn drop_unless_used(db: &Db, key: &BlobKey, stamp: i64, now: UnixMillis) -> Result<bool> {
    let mut tx = db.write().await?;
    // First, like everything that changes several deployments of an app: they do not lock them in the same order.
    access::apps::lock(&mut tx, &key.app).await?;
    let mut locked = Vec::new();
    for deployment in repo::deployments_with(&mut tx, &key.app, &key.sha256).await? {
        locked.extend(deployments::lock(&mut tx, &deployment).await?);
    }
    // Devices have URLs of it for a while; besides, the deletion of unused blobs must not meet the new object. A release that was given the diff
    // meanwhile, and whose deployment is not locked here, has changed the stamp.
    if !blob::touch_unless_used(&mut tx, &key.app, &key.sha256, stamp, now).await? {
        return Ok(false);
    }
    locked.sort_unstable_by(|one, other| one.deployment_key.cmp(&other.deployment_key));
    for deployment in &locked {
        repo::detach_blob(&mut tx, &deployment.id, &key.sha256).await?;
        snapshots::enqueue(&mut tx, &deployment.deployment_key, now).await?;
    }
    repo::forget_blob(&mut tx, &key.app, &key.sha256).await?;
    need_diffs(&mut tx, &key.app, now).await?;
    tx.commit().await?;
    Ok(true)
}
