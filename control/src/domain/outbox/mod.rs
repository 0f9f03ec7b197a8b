//! What is to be done after a commit: rows that a change writes in its own transaction, and that jobs work off, each kind its own.
//!
//! A row is worked on by the owner of its lease alone, and deleted once the work is done. An owner that dies leaves its lease behind; when that has run out,
//! another does the work again. So work must bear being done twice. A new kind of work is a [`Kind`] and a job that claims it by [`crate::jobs::queue`].
//! Start reading at [`enqueue`].

pub mod adoption;
pub mod snapshots;

use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// What its owner lost track of (no answer, or a process that ended) has taken effect after this many milliseconds, or never will.
pub const SETTLING: i64 = 30_000;

// A row that backs off after failures keeps its time: the work would fail like before.
const OPEN: &str = "INSERT INTO outbox (kind, key, payload, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
    VALUES ($1, $2, $3, $4, $5, 0, NULL, 0, 0) ON CONFLICT (kind, key) DO UPDATE SET next_attempt_time = \
    CASE WHEN outbox.attempts = 0 AND excluded.next_attempt_time < outbox.next_attempt_time \
    THEN excluded.next_attempt_time ELSE outbox.next_attempt_time END";
const DUE: &str = "SELECT key FROM outbox WHERE kind = $1 AND next_attempt_time <= $2 AND lease_until <= $2 \
    ORDER BY next_attempt_time, key LIMIT $3";
// Repeats the conditions of DUE: another may have been faster. An owner whose lease ran out may have work under way.
const CLAIM: &str = "UPDATE outbox SET lease_owner = $3, lease_until = $4, \
    unsettled_until = CASE WHEN lease_owner IS NULL THEN unsettled_until ELSE $5 END \
    WHERE kind = $1 AND key = $2 AND next_attempt_time <= $6 AND lease_until <= $6 \
    RETURNING kind, key, payload, created_time, attempts, lease_owner AS owner, lease_until AS until, unsettled_until";
const FREE: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0 WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const BACK_OFF: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0, attempts = attempts + 1, next_attempt_time = $4, \
    unsettled_until = CASE WHEN unsettled_until < $5 THEN $5 ELSE unsettled_until END WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const CLOSE: &str = "DELETE FROM outbox WHERE kind = $1 AND key = $2 AND lease_owner = $3";
const OLDEST: &str = "SELECT MIN(created_time) FROM outbox WHERE kind = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[OPEN, DUE, CLAIM, FREE, BACK_OFF, CLOSE, OLDEST];

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mail to be sent. The key is its id, the payload the sealed mail.
    Mail,
    /// A deployment key whose newest snapshot KV may not have; no payload.
    Snapshot,
}

impl Kind {
    /// What its rows are marked with.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Snapshot => "snapshot",
        }
    }
}

/// Something to be done.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w> {
    /// Its kind.
    pub kind: Kind,
    /// What tells it apart from other work of its kind.
    pub key: &'w str,
    /// What doing it takes beside the key.
    pub payload: Option<&'w [u8]>,
    /// When it may be done.
    pub due: UnixMillis,
}

/// Writes the row, in the transaction of what the work follows from; wake its job after the commit. A row that is open keeps its age and payload, and is due
/// at the earlier of both times. Its owner, if there is one, may be about to close it: a kind that is asked for again while it is open must notice that
/// itself, as [`snapshots::written`] does.
pub async fn enqueue(tx: &mut WriteTx, work: Work<'_>, now: UnixMillis) -> sqlx::Result<()> {
    let Work { kind, key, payload, due } = work;
    on_write!(tx, |conn| sqlx::query(OPEN).bind(kind.name()).bind(key).bind(payload).bind(now).bind(due).execute(conn).await)?;
    Ok(())
}

/// When the oldest row of the kind was written that is still open.
pub async fn oldest(tx: &mut ReadTx, kind: Kind) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(OLDEST).bind(kind.name()).fetch_one(conn).await)
}

/// A row that its owner alone may work on until the lease ends.
#[derive(Debug, sqlx::FromRow)]
pub struct Lease {
    kind: String,
    /// What tells it apart from other work of its kind.
    pub key: String,
    /// What doing it takes beside the key.
    pub payload: Option<Vec<u8>>,
    /// When the row was written.
    pub created_time: UnixMillis,
    /// How often it failed since the last success.
    pub attempts: i64,
    owner: String,
    /// When the lease ends.
    pub until: UnixMillis,
    /// Until then, what an earlier attempt began may still take effect.
    pub unsettled_until: UnixMillis,
}

/// Keys of rows that are due and not leased, the longest due first; at most `limit`.
pub async fn due(tx: &mut ReadTx, kind: Kind, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(DUE).bind(kind.name()).bind(now).bind(limit).fetch_all(conn).await)
}

/// Leases those of `keys` that are still due to `owner` until `until`, in the order of the keys.
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
            .bind(kind.name())
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

/// Gives a lease back; nothing was begun.
pub async fn free(tx: &mut WriteTx, lease: &Lease) -> sqlx::Result<()> {
    let Lease { kind, key, owner, .. } = lease;
    on_write!(tx, |conn| sqlx::query(FREE).bind(kind).bind(key).bind(owner).execute(conn).await)?;
    Ok(())
}

/// Deletes a row whose work is done or given up; `false` when the lease was lost, and the row is another's.
pub async fn close(tx: &mut WriteTx, lease: &Lease) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let closed = on_write!(tx, |conn| sqlx::query(CLOSE).bind(kind).bind(key).bind(owner).execute(conn).await)?;
    Ok(closed == 1)
}

/// Counts a failure and gives the row back, to be tried again at `next`; until `unsettled` the attempt may still take effect. `false` when the lease was lost.
pub async fn back_off(tx: &mut WriteTx, lease: &Lease, next: UnixMillis, unsettled: UnixMillis) -> sqlx::Result<bool> {
    let Lease { kind, key, owner, .. } = lease;
    let changed =
        on_write!(tx, |conn| sqlx::query(BACK_OFF).bind(kind).bind(key).bind(owner).bind(next).bind(unsettled).execute(conn).await)?;
    Ok(changed == 1)
}
