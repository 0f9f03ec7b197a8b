//! Moves rows of the previous release's two outboxes to the one outbox. Processes of that release run on until they are replaced; a row that they have
//! leased is theirs until the lease expires. Moving takes a row out of one table and puts it into the other in one transaction, so that
//! whoever is faster, it or a claim, is the only one to have the row. A mail keeps its id, and with it its `Message-ID`.
//!
//! **A key can stand in both tables**, and a process of each release can then write its snapshot at once. KV still ends with the newest, because the argument
//! at [`crate::jobs::snapshots`] holds for each row by itself, and what its rows compare is the one version in `deployment_keys`:
//! - Every write is made under a row that outlasts it: a row is closed only by its owner, who has seen the write end, and finds the version that was written
//!   to be the newest. If it is, what arrived last under this row is the newest; a later change opens a row. If it is not, this row has the key written
//!   again, whatever became of the other row. So the write that arrives last of all cannot have been of an older version.
//! - A write whose end nobody saw leaves its row open and unsettled, in either table. Moving keeps that: the later of both times counts, and a lease that ran
//!   out counts as a write under way, as it does for a claim.
//! - A row is never moved onto one that is leased. Its owner goes by the `unsettled_until` that it has read, and might close the row too soon.
//! - A process that stood still, and finds its row moved away, raises the version and opens a row in its own table. That one is moved like any other.
//!
//! What two rows do not keep is the second between two writes of a key; KV refuses the one that comes too soon, and that is repeated.
//!
//! Nobody waits in a circle: both releases lock a deployment key before its row, this locks the old row before the new one, and all go by the order of keys.

use shared::time::UnixMillis;

use super::{Kind, SETTLING};
use crate::infra::db::Db;
use crate::{on, on_write};

/// Rows that are moved in one transaction.
const BATCH: i64 = 100;

const MAILS: &str = "SELECT id FROM mail_outbox WHERE lease_until <= $1 ORDER BY id LIMIT $2";
const SNAPSHOTS: &str = "SELECT deployment_key FROM snapshot_outbox WHERE lease_until <= $1 AND NOT EXISTS (SELECT 1 FROM outbox o \
    WHERE o.kind = 'snapshot' AND o.key = snapshot_outbox.deployment_key AND o.lease_owner IS NOT NULL) ORDER BY deployment_key LIMIT $2";
// Each repeats the condition on the lease: a process of the release before this one may have been faster.
const TAKE_MAIL: &str = "DELETE FROM mail_outbox WHERE id = $1 AND lease_until <= $2 RETURNING sealed, created_time, next_attempt_time, attempts, \
    CASE WHEN lease_owner IS NULL THEN CAST(0 AS BIGINT) ELSE CAST($3 AS BIGINT) END";
const TAKE_SNAPSHOT: &str = "DELETE FROM snapshot_outbox WHERE deployment_key = $1 AND lease_until <= $2 \
    RETURNING CAST(NULL AS BYTEA), created_time, next_attempt_time, attempts, \
    CASE WHEN lease_owner IS NULL THEN unsettled_until ELSE CAST($3 AS BIGINT) END";
// A row that is open keeps when it is due.
const PUT: &str = "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
    VALUES ($1, $2, $3, $4, $5, $6, NULL, 0, $7) ON CONFLICT (kind, key) DO UPDATE SET \
    created_time = CASE WHEN excluded.created_time < outbox.created_time THEN excluded.created_time ELSE outbox.created_time END, \
    unsettled_until = CASE WHEN excluded.unsettled_until > outbox.unsettled_until THEN excluded.unsettled_until ELSE outbox.unsettled_until END \
    WHERE outbox.lease_owner IS NULL";

/// Every statement of this file.
pub const SQL: &[&str] = &[MAILS, SNAPSHOTS, TAKE_MAIL, TAKE_SNAPSHOT, PUT];

/// The payload, when it was written, when it is due, how often it failed, until when it is unsettled.
type Taken = (Option<Vec<u8>>, UnixMillis, UnixMillis, i64, UnixMillis);

/// Moves rows that nobody holds; whether there may be more.
pub async fn adopt(db: &Db, now: UnixMillis) -> sqlx::Result<bool> {
    let mails = step(db, now, Kind::Mail, MAILS, TAKE_MAIL).await?;
    Ok(step(db, now, Kind::Snapshot, SNAPSHOTS, TAKE_SNAPSHOT).await? || mails)
}

async fn step(db: &Db, now: UnixMillis, kind: Kind, list: &'static str, take: &'static str) -> sqlx::Result<bool> {
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
        let taken: Option<Taken> = on!(tx, |conn| sqlx::query_as(take).bind(key).bind(now).bind(settled).fetch_optional(conn).await)?;
        let Some((payload, created, next, attempts, unsettled)) = taken else { continue };
        let put = on_write!(tx, |conn| sqlx::query(PUT)
            .bind(kind.name())
            .bind(key)
            .bind(&payload)
            .bind(created)
            .bind(next)
            .bind(attempts)
            .bind(unsettled)
            .execute(conn)
            .await)?;
        if put == 0 {
            // It was leased meanwhile; what this transaction has moved stays where it was, until the next time.
            return Ok(false);
        }
    }
    tx.commit().await?;
    Ok(i64::try_from(keys.len()).unwrap_or(BATCH) >= BATCH)
}
