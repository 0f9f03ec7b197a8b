//! The outbox: work to do after a commit. A change writes the row in its own transaction; a job per kind processes it.
//!
//! Only the owner of a row's lease works on it, and deletes it when done. If the owner dies, its lease expires and another process repeats the work,
//! so work must be idempotent. A new kind of work is a [`Kind`] and a job that claims it through [`crate::jobs::queue`]. Start reading at
//! [`enqueue`].

pub mod adoption;

use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write, stored_text};

/// An operation whose outcome is unknown (no answer, or the process died) has taken effect after this many milliseconds, or never will.
pub const SETTLING: i64 = 30_000;

// A row in back-off keeps its due time: the work would fail again.
const ENQUEUE: &str = "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
    VALUES ($1, $2, $3, $4, $5, 0, NULL, 0, 0) ON CONFLICT (kind, key) DO UPDATE SET next_attempt_time = \
    CASE WHEN outbox.attempts = 0 AND excluded.next_attempt_time < outbox.next_attempt_time \
    THEN excluded.next_attempt_time ELSE outbox.next_attempt_time END";
const FIND_DUE: &str = "SELECT key FROM outbox WHERE kind = $1 AND next_attempt_time <= $2 AND lease_until <= $2 \
    ORDER BY next_attempt_time, key LIMIT $3";
// Repeats the conditions of FIND_DUE: another process may have claimed the row. If a lease expired, its owner may still have work in progress. The work on
// diffs reads what people have uploaded, and renews its lease: if the lease expired, that work may have ended the process, and counts as a failure.
const CLAIM: &str = "UPDATE outbox SET lease_owner = $3, lease_until = $4, \
    unsettled_until = CASE WHEN lease_owner IS NULL THEN unsettled_until ELSE $5 END, \
    attempts = CASE WHEN lease_owner IS NULL OR kind <> 'diffs' THEN attempts ELSE attempts + 1 END \
    WHERE kind = $1 AND key = $2 AND next_attempt_time <= $6 AND lease_until <= $6 \
    RETURNING kind, key, payload, created_time, attempts, lease_owner AS owner, lease_until AS until, unsettled_until";
const RENEW: &str = "UPDATE outbox SET lease_until = $4 WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const RELEASE: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0 WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const RETRY_LATER: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0, attempts = attempts + 1, next_attempt_time = $4, \
    unsettled_until = CASE WHEN unsettled_until < $5 THEN $5 ELSE unsettled_until END WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const REQUEUE: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0, attempts = 0, next_attempt_time = $4 \
    WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const FORGIVE: &str = "UPDATE outbox SET attempts = 0 WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const MARK_UNSETTLED: &str = "UPDATE outbox SET unsettled_until = $3 WHERE kind = $1 AND key = $2 AND unsettled_until < $3";
const DELETE: &str = "DELETE FROM outbox WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const COUNT_OLDER: &str = "SELECT COUNT(*) FROM outbox WHERE kind = $1 AND created_time <= $2";
const FIND_OLDEST: &str = "SELECT MIN(created_time) FROM outbox WHERE kind = $1";
/// A page of emails, for [`crate::domain::encryption::sealed`].
pub const MAILS: &str = "SELECT key, payload FROM outbox \
    WHERE kind = 'mail' AND key > $1 AND substr(payload, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY key LIMIT $4";
/// Re-encrypts an email.
pub const MOVE_MAIL: &str = "UPDATE outbox SET payload = $3 WHERE kind = 'mail' AND key = $1 AND payload = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    ENQUEUE,
    FIND_DUE,
    CLAIM,
    RENEW,
    RELEASE,
    RETRY_LATER,
    REQUEUE,
    FORGIVE,
    MARK_UNSETTLED,
    DELETE,
    COUNT_OLDER,
    FIND_OLDEST,
    MAILS,
    MOVE_MAIL,
];

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An email to send. The key is its id, the payload the encrypted email.
    Mail,
    /// A deployment key whose newest snapshot may be missing in KV; no payload.
    Snapshot,
    /// An app, some of whose releases may need a diff; no payload.
    Diffs,
}

stored_text!(Kind, "must be mail, snapshot or diffs", Mail = "mail", Snapshot = "snapshot", Diffs = "diffs");

/// A unit of work.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w> {
    /// Its kind.
    pub kind: Kind,
    /// Identifies it among work of its kind.
    pub key: &'w str,
    /// The data it needs besides the key.
    pub payload: Option<&'w [u8]>,
    /// The earliest time to do it.
    pub due: UnixMillis,
}

/// Writes the row in the caller's transaction; wake the job after the commit. An open row keeps its age and payload, and is due at the earlier of
/// both times. Its owner, if any, may be about to delete it: a kind that can be enqueued again while open must detect that itself, as
/// [`crate::domain::deployments::snapshots::record_success`] does.
pub async fn enqueue(tx: &mut WriteTx, work: Work<'_>, now: UnixMillis) -> sqlx::Result<()> {
    let Work { kind, key, payload, due } = work;
    on_write!(tx, |conn| sqlx::query(ENQUEUE).bind(kind.as_str()).bind(key).bind(payload).bind(now).bind(due).execute(conn).await)?;
    Ok(())
}

/// The creation time of the oldest open row of the kind.
pub async fn oldest(tx: &mut ReadTx, kind: Kind) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_OLDEST).bind(kind.as_str()).fetch_one(conn).await)
}

/// The number of open rows of the kind that were created until then.
pub async fn older(tx: &mut ReadTx, kind: Kind, until: UnixMillis) -> sqlx::Result<u64> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(COUNT_OLDER).bind(kind.as_str()).bind(until).fetch_one(conn).await)?;
    Ok(count.unsigned_abs())
}

/// A leased row. Only its owner may work on it until the lease expires.
#[derive(Debug, sqlx::FromRow)]
pub struct Lease {
    kind: Kind,
    /// Identifies it among work of its kind.
    pub key: String,
    /// The data it needs besides the key.
    pub payload: Option<Vec<u8>>,
    /// When the row was created.
    pub created_time: UnixMillis,
    /// Failed attempts since the last success. Of the work on diffs, those whose process ended are among them.
    pub attempts: i64,
    owner: String,
    /// When the lease expires.
    pub until: UnixMillis,
    /// Until then, an earlier attempt may still take effect.
    pub unsettled_until: UnixMillis,
}

/// The keys of at most `limit` rows that are due and not leased, longest due first.
pub async fn due(tx: &mut ReadTx, kind: Kind, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_DUE).bind(kind.as_str()).bind(now).bind(limit).fetch_all(conn).await)
}

/// Leases to `owner` until `until` those of `keys` that are still due, in key order.
pub async fn claim(
    tx: &mut WriteTx,
    kind: Kind,
    mut keys: Vec<String>,
    owner: &str,
    now: UnixMillis,
    until: UnixMillis,
) -> sqlx::Result<Vec<Lease>> {
    keys.sort_unstable();
    let mut leases = Vec::with_capacity(keys.len());
    for key in keys {
        let lease: Option<Lease> = on!(tx, |conn| sqlx::query_as(CLAIM)
            .bind(kind.as_str())
            .bind(&key)
            .bind(owner)
            .bind(until)
            .bind(now.plus_millis(SETTLING))
            .bind(now)
            .fetch_optional(conn)
            .await)?;
        leases.extend(lease);
    }
    Ok(leases)
}

/// Extends a lease until `until`, for work that takes longer. `false` if the lease was lost.
pub async fn renew(tx: &mut WriteTx, lease: &Lease, until: UnixMillis) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let renewed = on_write!(tx, |conn| sqlx::query(RENEW).bind(kind.as_str()).bind(key).bind(owner).bind(until).execute(conn).await)?;
    Ok(renewed == 1)
}

/// Releases a lease whose work was not started, or is to be done from the start. `false` if the lease was lost.
pub async fn release(tx: &mut WriteTx, lease: &Lease) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let released = on_write!(tx, |conn| sqlx::query(RELEASE).bind(kind.as_str()).bind(key).bind(owner).execute(conn).await)?;
    Ok(released == 1)
}

/// Deletes a row whose work is done or given up. `false` if the lease was lost and another process owns the row.
pub async fn delete(tx: &mut WriteTx, lease: &Lease) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let deleted = on_write!(tx, |conn| sqlx::query(DELETE).bind(kind.as_str()).bind(key).bind(owner).execute(conn).await)?;
    Ok(deleted == 1)
}

/// Counts a failure and releases the row, to be retried at `next`. Until `unsettled` the attempt may still take effect. `false` if the lease was
/// lost.
pub async fn retry_later(tx: &mut WriteTx, lease: &Lease, next: UnixMillis, unsettled: UnixMillis) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let changed = on_write!(tx, |conn| sqlx::query(RETRY_LATER)
        .bind(kind.as_str())
        .bind(key)
        .bind(owner)
        .bind(next)
        .bind(unsettled)
        .execute(conn)
        .await)?;
    Ok(changed == 1)
}

/// Releases the row after a success, to be done once more at `next`. `false` if the lease was lost.
pub async fn requeue(tx: &mut WriteTx, lease: &Lease, next: UnixMillis) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let changed = on_write!(tx, |conn| sqlx::query(REQUEUE).bind(kind.as_str()).bind(key).bind(owner).bind(next).execute(conn).await)?;
    Ok(changed == 1)
}

/// Records that a part of the work has succeeded: what fails next has no failures yet.
pub async fn forgive(tx: &mut WriteTx, lease: &Lease) -> sqlx::Result<()> {
    let Lease { kind, key, owner, .. } = lease;
    on_write!(tx, |conn| sqlx::query(FORGIVE).bind(kind.as_str()).bind(key).bind(owner).execute(conn).await)?;
    Ok(())
}

/// Records on the row, regardless of its owner, that until `unsettled` an attempt under a lost lease may still take effect.
pub async fn mark_unsettled(tx: &mut WriteTx, lease: &Lease, unsettled: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(MARK_UNSETTLED).bind(lease.kind.as_str()).bind(&lease.key).bind(unsettled).execute(conn).await)
}
