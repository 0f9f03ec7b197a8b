//! Moves rows from the previous release's two outbox tables to the single outbox. Processes of that release run until they are replaced, and a row
//! they have leased is theirs until the lease expires. Each move deletes the row from one table and inserts it into the other in one transaction. So
//! a row goes either to the move or to a concurrent claim. An email keeps its id, and so its `Message-ID`.
//!
//! **A key can have a row in both tables**, and a process of each release can then write its snapshot at the same time. KV still ends with the newest
//! snapshot, because the argument in [`crate::jobs::snapshots`] holds for each row separately, and both rows compare with the one version in
//! `deployment_keys`:
//! - Every write is made under a row that outlasts it. Only its owner deletes a row: after it has seen the write end and found the written version to
//!   be the newest. If it is, the last write to arrive under this row is the newest; a later change enqueues the key again. If it is not, this row has the
//!   key written again, whatever happens to the other row. So the last write of all to arrive cannot be of an older version.
//! - A write with an unknown outcome leaves its row open and unsettled, in either table. Moving keeps that: the later of both times applies, and an
//!   expired lease counts as a write in progress, as it does for a claim.
//! - A row is never moved onto a leased row. That row's owner uses the `unsettled_until` it has read, and might delete the row too soon.
//! - A process that was paused and finds its row moved raises the version and inserts a row into its own table. That row is moved like any other.
//!
//! Two rows do not keep one second between two writes of a key. KV rejects the write that comes too soon, and it is retried.
//!
//! No deadlock: both releases lock a deployment key before its row, this code locks the old row before the new one, and all go in key order.

use shared::time::UnixMillis;

use super::{Kind, SETTLING};
use crate::infra::db::Db;
use crate::{on, on_write};

/// Rows moved per transaction.
const BATCH: i64 = 100;

const MAILS: &str = "SELECT id FROM mail_outbox WHERE lease_until <= $1 ORDER BY id LIMIT $2";
const SNAPSHOTS: &str = "SELECT deployment_key FROM snapshot_outbox WHERE lease_until <= $1 AND NOT EXISTS (SELECT 1 FROM outbox o \
    WHERE o.kind = 'snapshot' AND o.key = snapshot_outbox.deployment_key AND o.lease_owner IS NOT NULL) ORDER BY deployment_key LIMIT $2";
// Each repeats the lease condition: a process of the previous release may have claimed the row first.
const DELETE_MAIL: &str = "DELETE FROM mail_outbox WHERE id = $1 AND lease_until <= $2 RETURNING sealed, created_time, next_attempt_time, attempts, \
    CASE WHEN lease_owner IS NULL THEN CAST(0 AS BIGINT) ELSE CAST($3 AS BIGINT) END";
const DELETE_SNAPSHOT: &str = "DELETE FROM snapshot_outbox WHERE deployment_key = $1 AND lease_until <= $2 \
    RETURNING CAST(NULL AS BYTEA), created_time, next_attempt_time, attempts, \
    CASE WHEN lease_owner IS NULL THEN unsettled_until ELSE CAST($3 AS BIGINT) END";
// An open row keeps its due time.
const INSERT: &str = "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
    VALUES ($1, $2, $3, $4, $5, $6, NULL, 0, $7) ON CONFLICT (kind, key) DO UPDATE SET \
    created_time = CASE WHEN excluded.created_time < outbox.created_time THEN excluded.created_time ELSE outbox.created_time END, \
    unsettled_until = CASE WHEN excluded.unsettled_until > outbox.unsettled_until THEN excluded.unsettled_until ELSE outbox.unsettled_until END \
    WHERE outbox.lease_owner IS NULL";
/// A page of emails, for [`crate::domain::encryption::sealed`].
pub const SEALED_MAILS: &str = "SELECT id, sealed FROM mail_outbox \
    WHERE id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";
/// Re-encrypts an email.
pub const MOVE_MAIL: &str = "UPDATE mail_outbox SET sealed = $3 WHERE id = $1 AND sealed = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[MAILS, SNAPSHOTS, DELETE_MAIL, DELETE_SNAPSHOT, INSERT, SEALED_MAILS, MOVE_MAIL];

/// Payload, creation time, due time, failed attempts, and until when it is unsettled.
type DeletedRow = (Option<Vec<u8>>, UnixMillis, UnixMillis, i64, UnixMillis);

/// Moves unleased rows. Returns whether there may be more.
pub async fn adopt(db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
    let mails = move_batch(db, now, Kind::Mail, MAILS, DELETE_MAIL).await?;
    Ok(move_batch(db, now, Kind::Snapshot, SNAPSHOTS, DELETE_SNAPSHOT).await? || mails)
}

async fn move_batch(db: &Db, now: UnixMillis, kind: Kind, list: &'static str, delete: &'static str) -> sqlx::Result<bool> {
    let mut read = db.read().await?;
    let mut keys: Vec<String> = on!(read, |conn| sqlx::query_scalar(list).bind(now).bind(BATCH).fetch_all(conn).await)?;
    drop(read);
    if keys.is_empty() {
        return Ok(false);
    }
    keys.sort_unstable();
    let settled = now.plus_millis(SETTLING);
    let mut tx = db.write().await?;
    for key in &keys {
        let deleted: Option<DeletedRow> =
            on!(tx, |conn| sqlx::query_as(delete).bind(key).bind(now).bind(settled).fetch_optional(conn).await)?;
        let Some((payload, created, next, attempts, unsettled)) = deleted else { continue };
        let inserted = on_write!(tx, |conn| sqlx::query(INSERT)
            .bind(kind.as_str())
            .bind(key)
            .bind(&payload)
            .bind(created)
            .bind(next)
            .bind(attempts)
            .bind(unsettled)
            .execute(conn)
            .await)?;
        if inserted == 0 {
            // The target row was leased meanwhile. Roll back; the next run retries.
            return Ok(false);
        }
    }
    tx.commit().await?;
    Ok(i64::try_from(keys.len()).unwrap_or(BATCH) >= BATCH)
}
