//! Uploads in parts to a bucket: each has a row from before its first part until it has ended, so that none is forgotten.

use std::path::Path;

use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::time::UnixMillis;

use crate::domain::context::Context;
use crate::domain::error::{Error, Result, chain};
use crate::infra::db::{Db, ReadTx, WriteTx};
use crate::infra::storage::{PartsId, Storage};
use crate::{on, on_write};

/// No upload to a bucket lasts this long, in milliseconds.
const LONGEST: i64 = 24 * 60 * 60 * 1_000;
/// Uploads that one round of the sweep ends.
const BATCH: i64 = 50;

const BEGIN: &str = "INSERT INTO open_uploads (app_id, sha256, upload_id, started_time) VALUES ($1, $2, $3, $4)";
const END: &str = "DELETE FROM open_uploads WHERE app_id = $1 AND sha256 = $2 AND upload_id = $3";
const LEFT: &str = "SELECT app_id, sha256, upload_id FROM open_uploads WHERE started_time <= $1 ORDER BY started_time LIMIT $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[BEGIN, END, LEFT];

/// An upload that has begun.
#[derive(Debug, sqlx::FromRow)]
struct OpenUpload {
    app_id: AppId,
    sha256: Sha256Hex,
    upload_id: String,
}

impl OpenUpload {
    fn new(key: &BlobKey, id: &PartsId) -> Self {
        Self { app_id: key.app.clone(), sha256: key.sha256.clone(), upload_id: id.0.clone() }
    }
}

/// Moves a finished file to storage, in parts if it is large. Errors: the storage's, or the database's; then nothing of it is left, or the sweep finds it.
pub async fn put(db: &Db, storage: &Storage, now: UnixMillis, key: &BlobKey, file: &Path, size: u64) -> Result<()> {
    let Some(id) = storage.begin(key, size).await.map_err(Error::unavailable)? else {
        return storage.put_file(key, file, None).await.map_err(Error::unavailable);
    };
    let row = OpenUpload::new(key, &id);
    let put = async {
        let mut tx = db.write().await?;
        begin(&mut tx, &row, now).await?;
        tx.commit().await?;
        storage.put_file(key, file, Some(&id)).await.map_err(Error::unavailable)
    }
    .await;
    if put.is_err()
        && let Err(error) = storage.abort(key, &id).await
    {
        tracing::warn!(cause = %chain(&error), "failed to delete the parts of an upload; the sweep will");
        return put;
    }
    // A row that stays only costs the sweep a request.
    if let Err(error) = forget(db, &row).await {
        tracing::warn!(cause = %chain(&error), "failed to note the end of an upload in parts");
    }
    put
}

/// Deletes the parts of uploads that never ended. A failure is logged, and the next round tries again. Returns whether there may be more.
pub async fn sweep(app: &Context, now: UnixMillis) -> Result<bool> {
    let left = left(&mut app.db.read().await?, now.plus_millis(-LONGEST)).await?;
    let mut ended = 0;
    for row in &left {
        let key = BlobKey { app: row.app_id.clone(), sha256: row.sha256.clone() };
        match app.storage.abort(&key, &PartsId(row.upload_id.clone())).await {
            Ok(()) => {
                forget(&app.db, row).await?;
                ended += 1;
            }
            Err(error) => tracing::warn!(cause = %chain(&error), "failed to delete the parts of an upload that did not end"),
        }
    }
    Ok(ended > 0 && i64::try_from(left.len()).is_ok_and(|count| count >= BATCH))
}

async fn forget(db: &Db, row: &OpenUpload) -> Result<()> {
    let mut tx = db.write().await?;
    end(&mut tx, row).await?;
    Ok(tx.commit().await?)
}

async fn begin(tx: &mut WriteTx, row: &OpenUpload, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(BEGIN).bind(&row.app_id).bind(&row.sha256).bind(&row.upload_id).bind(now).execute(conn).await)
}

async fn end(tx: &mut WriteTx, row: &OpenUpload) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(END).bind(&row.app_id).bind(&row.sha256).bind(&row.upload_id).execute(conn).await)
}

async fn left(tx: &mut ReadTx, before: UnixMillis) -> sqlx::Result<Vec<OpenUpload>> {
    on!(tx, |conn| sqlx::query_as(LEFT).bind(before).bind(BATCH).fetch_all(conn).await)
}
