//! The deletion of blobs that nothing refers to: two days after their last reference and last use, so that no URL that was given out still needs them.
//!
//! A row is marked first, then its object is deleted, then the row. While it is marked, nobody stores the same bytes ([`blob::touch`](super::blob::touch)), so
//! a deletion that is on its way never meets a new object. The time of the mark is in `last_used_time`: it says whose mark it is. A mark that is old was left by a
//! process that died, and the next one takes it over.

use std::io;
use std::time::Duration;

use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::time::UnixMillis;
use tokio::time::timeout;

use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// How long a blob stays after its last reference and last use, in milliseconds. URLs of it are valid for 25 hours.
const GRACE: i64 = 48 * 60 * 60 * 1_000;
/// How long a mark is left to the process that made it, in milliseconds. Longer than [`DELETION`] by far.
const LEASE: i64 = 2 * 60 * 1_000;
/// How long the deletion of an object may take.
const DELETION: Duration = Duration::from_secs(20);
/// How old a mark may be when the deletion of the object begins, in milliseconds.
const FRESH: i64 = 30_000;
/// After so many failures one after the other, a step ends.
const MOST_FAILURES: usize = 5;
/// Rows that one step of a round looks at.
const PAGE: i64 = 500;
/// Marks of dead processes that one round takes over.
const BATCH: i64 = 100;

// A row with a fresh use or a mark needs no look at what refers to it.
const PAGE_AFTER: &str = "SELECT b.app_id, b.sha256, b.last_used_time, CASE WHEN b.deleting OR b.last_used_time > $3 THEN FALSE ELSE NOT ( \
    EXISTS (SELECT 1 FROM releases r WHERE r.app_id = b.app_id AND (r.blob_sha256 = b.sha256 OR r.manifest_sha256 = b.sha256)) \
    OR EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE d.blob_sha256 = b.sha256 AND r.app_id = b.app_id) \
    OR EXISTS (SELECT 1 FROM imported_packages p WHERE p.app_id = b.app_id AND (p.sha256 = b.sha256 OR p.manifest_sha256 = b.sha256))) END AS is_unused \
    FROM blobs b WHERE (b.app_id, b.sha256) > ($1, $2) ORDER BY b.app_id, b.sha256 LIMIT $4";
// A release, a promotion and an upload change the stamp in their own transactions, so an equal one also says that nothing refers to the blob since.
const MARK: &str = "UPDATE blobs SET deleting = TRUE, last_used_time = CASE WHEN last_used_time >= $4 THEN last_used_time + 1 ELSE $4 END \
    WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 AND deleting = FALSE \
    AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.app_id = $1 AND (r.blob_sha256 = $2 OR r.manifest_sha256 = $2)) \
    AND NOT EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.app_id = $1 AND d.blob_sha256 = $2) \
    AND NOT EXISTS (SELECT 1 FROM imported_packages p WHERE p.app_id = $1 AND (p.sha256 = $2 OR p.manifest_sha256 = $2)) \
    RETURNING last_used_time";
const LEFT: &str = "SELECT app_id, sha256, last_used_time, TRUE AS is_unused FROM blobs WHERE deleting = TRUE AND last_used_time <= $1 ORDER BY last_used_time LIMIT $2";
const TAKE_OVER: &str = "UPDATE blobs SET last_used_time = $4 WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 AND deleting = TRUE \
    RETURNING last_used_time";
const UNMARK: &str =
    "UPDATE blobs SET deleting = FALSE, last_used_time = $4 WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 AND deleting = TRUE";
const REMOVE: &str = "DELETE FROM blobs WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 AND deleting = TRUE";

/// Every statement of this file.
pub const SQL: &[&str] = &[PAGE_AFTER, MARK, LEFT, TAKE_OVER, UNMARK, REMOVE];

/// A blob, as it was seen.
#[derive(Clone, Debug, sqlx::FromRow)]
struct Seen {
    app_id: AppId,
    sha256: Sha256Hex,
    last_used_time: i64,
    is_unused: bool,
}

/// Walks over all blobs again and again, and deletes those that nothing needs.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The last blob that was looked at; empty at the start of a walk.
    after: (String, String),
    /// Blobs that were deleted.
    pub deleted: u64,
}

impl Sweep {
    /// Looks at the next blobs. Returns whether the walk has not reached its end. Errors: the database's, or the last of the storage's; what was marked is taken
    /// over later, and what could not be deleted does not keep the rest from it.
    pub async fn step(&mut self, app: &Context) -> Result<bool> {
        let now = app.now();
        let mut failures = Failures::default();
        let left = left(&mut app.db.read().await?, now.plus_millis(-LEASE)).await?;
        for seen in &left {
            failures.note(self.delete(app, seen, TAKE_OVER).await)?;
        }
        let page = page(&mut app.db.read().await?, &self.after, now.plus_millis(-GRACE)).await?;
        for seen in page.iter().filter(|seen| seen.is_unused) {
            failures.note(self.delete(app, seen, MARK).await)?;
        }
        let is_full = i64::try_from(page.len()).is_ok_and(|count| count >= PAGE);
        self.after = page.last().filter(|_| is_full).map(|last| (last.app_id.to_string(), last.sha256.to_string())).unwrap_or_default();
        match failures.last {
            Some(error) => Err(error),
            None => Ok(is_full),
        }
    }

    async fn delete(&mut self, app: &Context, seen: &Seen, mark: &'static str) -> Result<()> {
        self.deleted += u64::from(marked_and_deleted(app, seen, mark).await?);
        Ok(())
    }
}

/// Failures of deletions.
#[derive(Debug, Default)]
struct Failures {
    last: Option<Error>,
    in_a_row: usize,
}

impl Failures {
    /// Notes how a deletion ended. Errors: so many have failed one after the other that the storage seems to be down.
    fn note(&mut self, ended: Result<()>) -> Result<()> {
        match ended {
            Ok(()) => self.in_a_row = 0,
            Err(error) => {
                self.in_a_row += 1;
                if self.in_a_row >= MOST_FAILURES {
                    return Err(error);
                }
                self.last = Some(error);
            }
        }
        Ok(())
    }
}

/// Deletes a blob now, if nothing refers to it and nobody has used it since the use with this stamp: for what was stored for something that was refused. Returns
/// whether it was deleted.
pub async fn delete(app: &Context, of: &AppId, sha256: &Sha256Hex, stamp: i64) -> Result<bool> {
    let seen = Seen { app_id: of.clone(), sha256: sha256.clone(), last_used_time: stamp, is_unused: true };
    marked_and_deleted(app, &seen, MARK).await
}

/// Marks a blob, or takes its mark over, deletes its object, then its row. Returns whether it did; not if the blob was used meanwhile.
async fn marked_and_deleted(app: &Context, seen: &Seen, mark: &'static str) -> Result<bool> {
    let mut tx = app.db.write().await?;
    let marked = marked(&mut tx, seen, mark, app.now()).await?;
    tx.commit().await?;
    let Some(stamp) = marked else { return Ok(false) };
    // This process may have stood still: another one may have taken the mark over, and may be done.
    if app.now().as_millis().saturating_sub(stamp) > FRESH {
        return Ok(false);
    }
    let key = BlobKey { app: seen.app_id.clone(), sha256: seen.sha256.clone() };
    let deleted = timeout(DELETION, app.storage.delete(&key)).await;
    let deleted = deleted.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the storage did not delete an object in time")));
    if let Err(error) = deleted {
        // With an answer, no deletion is on its way any more, so nobody has to wait for it. The stamp is that of before: nobody has used it since.
        if error.kind() != io::ErrorKind::TimedOut {
            let mut tx = app.db.write().await?;
            unmark(&mut tx, seen, stamp).await?;
            tx.commit().await?;
        }
        return Err(Error::unavailable(error));
    }
    let mut tx = app.db.write().await?;
    let removed = remove(&mut tx, seen, stamp).await?;
    tx.commit().await?;
    Ok(removed > 0)
}

async fn page(tx: &mut ReadTx, after: &(String, String), before: UnixMillis) -> sqlx::Result<Vec<Seen>> {
    on!(tx, |conn| sqlx::query_as(PAGE_AFTER).bind(&after.0).bind(&after.1).bind(before).bind(PAGE).fetch_all(conn).await)
}

async fn left(tx: &mut ReadTx, before: UnixMillis) -> sqlx::Result<Vec<Seen>> {
    on!(tx, |conn| sqlx::query_as(LEFT).bind(before).bind(BATCH).fetch_all(conn).await)
}

/// The stamp of the mark; `None` if the blob was used meanwhile.
async fn marked(tx: &mut WriteTx, seen: &Seen, mark: &'static str, now: UnixMillis) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(mark)
        .bind(&seen.app_id)
        .bind(&seen.sha256)
        .bind(seen.last_used_time)
        .bind(now)
        .fetch_optional(conn)
        .await)
}

async fn remove(tx: &mut WriteTx, seen: &Seen, stamp: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REMOVE).bind(&seen.app_id).bind(&seen.sha256).bind(stamp).execute(conn).await)
}

async fn unmark(tx: &mut WriteTx, seen: &Seen, stamp: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(UNMARK)
        .bind(&seen.app_id)
        .bind(&seen.sha256)
        .bind(stamp)
        .bind(seen.last_used_time)
        .execute(conn)
        .await)
}
