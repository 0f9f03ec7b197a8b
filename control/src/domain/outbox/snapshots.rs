//! The outbox of snapshots: which keys KV may not have in their newest version, and who is pushing them. Why this suffices is argued at
//! [`crate::jobs::snapshots`].
//!
//! Whoever locks both locks `deployment_keys` first and `snapshot_outbox` second, and of several keys the lower one first; so writers wait
//! for each other but never in a circle.

use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::domain::error::{AppError, AppResult};
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// KV takes one write of a key per second, in milliseconds.
pub const WRITE_SPACING: i64 = 1_000;

/// A write whose sender lost track of it (no answer, or a process that ended) has reached KV after this many milliseconds, or never will.
pub const SETTLING: i64 = 30_000;

const RAISE: &str = "UPDATE deployment_keys SET snapshot_version = CASE WHEN snapshot_version >= $2 THEN snapshot_version + 1 ELSE $2 END \
    WHERE deployment_key = $1 RETURNING snapshot_written_time";
const RAISE_ABOVE: &str = "UPDATE deployment_keys SET snapshot_version = $3 \
    WHERE deployment_key = $1 AND snapshot_version < $2 RETURNING snapshot_written_time";
const WRITTEN_TIME: &str = "SELECT snapshot_written_time FROM deployment_keys WHERE deployment_key = $1";
// A row that backs off after failures keeps its time: the change would fail like the one before it.
const OPEN: &str = "INSERT INTO snapshot_outbox (deployment_key, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
    VALUES ($1, $2, $3, 0, NULL, 0, 0) ON CONFLICT (deployment_key) DO UPDATE SET next_attempt_time = \
    CASE WHEN snapshot_outbox.attempts = 0 AND excluded.next_attempt_time < snapshot_outbox.next_attempt_time \
    THEN excluded.next_attempt_time ELSE snapshot_outbox.next_attempt_time END";
const DUE: &str = "SELECT deployment_key FROM snapshot_outbox WHERE next_attempt_time <= $1 AND lease_until <= $1 \
    ORDER BY next_attempt_time, deployment_key LIMIT $2";
// Repeats the conditions of DUE: another publisher may have been faster. An owner whose lease ran out may have a write under way.
const CLAIM: &str = "UPDATE snapshot_outbox SET lease_owner = $2, lease_until = $3, \
    unsettled_until = CASE WHEN lease_owner IS NULL THEN unsettled_until ELSE $4 END \
    WHERE deployment_key = $1 AND next_attempt_time <= $5 AND lease_until <= $5 RETURNING attempts, unsettled_until";
const FREE: &str = "UPDATE snapshot_outbox SET lease_owner = NULL, lease_until = 0 WHERE deployment_key = $1 AND lease_owner = $2";
const BACK_OFF: &str = "UPDATE snapshot_outbox SET lease_owner = NULL, lease_until = 0, attempts = attempts + 1, next_attempt_time = $3, \
    unsettled_until = CASE WHEN unsettled_until < $4 THEN $4 ELSE unsettled_until END WHERE deployment_key = $1 AND lease_owner = $2";
// Also locks the key's row: a change that is under way commits before this goes on, or waits until this has committed.
const NOTE_WRITTEN: &str = "UPDATE deployment_keys SET snapshot_written_time = $2 WHERE deployment_key = $1 RETURNING snapshot_version";
const CLOSE: &str = "DELETE FROM snapshot_outbox WHERE deployment_key = $1 AND lease_owner = $2";
const AGAIN: &str = "UPDATE snapshot_outbox SET lease_owner = NULL, lease_until = 0, attempts = 0, next_attempt_time = $3 \
    WHERE deployment_key = $1 AND lease_owner = $2";
const DISTRUST: &str = "UPDATE snapshot_outbox SET unsettled_until = $2 WHERE deployment_key = $1 AND unsettled_until < $2";
const OLDEST: &str = "SELECT MIN(created_time) FROM snapshot_outbox";

/// Every statement of this file.
pub const SQL: &[&str] =
    &[RAISE, RAISE_ABOVE, WRITTEN_TIME, OPEN, DUE, CLAIM, FREE, BACK_OFF, NOTE_WRITTEN, CLOSE, AGAIN, DISTRUST, OLDEST];

/// Raises the key's snapshot version to max(version + 1, now) and writes (or keeps) its outbox row, in the change's own transaction.
///
/// A change that concerns several keys calls this in the order of the keys.
pub async fn enqueue(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> AppResult<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE).bind(key.as_str()).bind(now).fetch_optional(conn).await)?;
    open(tx, key, written.ok_or_else(no_such_key)?, now).await
}

/// Asks for the key's newest snapshot to be written again, as it is.
pub async fn repeat(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> AppResult<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(WRITTEN_TIME).bind(key.as_str()).fetch_optional(conn).await)?;
    open(tx, key, written.ok_or_else(no_such_key)?, now).await
}

/// Raises the key's version above `seen`, which KV has, and asks for a write; `false` when it is above already.
pub async fn raise_above(tx: &mut WriteTx, key: &DeploymentKey, seen: i64, now: UnixMillis) -> AppResult<bool> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE_ABOVE)
        .bind(key.as_str())
        .bind(seen)
        .bind(seen.saturating_add(1))
        .fetch_optional(conn)
        .await)?;
    match written {
        Some(written) => open(tx, key, written, now).await.map(|()| true),
        None => Ok(false),
    }
}

fn no_such_key() -> AppError {
    AppError::internal("a snapshot was asked for of a deployment key without a row")
}

async fn open(tx: &mut WriteTx, key: &DeploymentKey, written: UnixMillis, now: UnixMillis) -> AppResult<()> {
    // Never more than one spacing ahead: a clock that was set back must not hold up the key until it has caught up.
    let next = written.plus_millis(WRITE_SPACING).clamp(now, now.plus_millis(WRITE_SPACING));
    on_write!(tx, |conn| sqlx::query(OPEN).bind(key.as_str()).bind(now).bind(next).execute(conn).await)?;
    Ok(())
}

/// When the oldest row was written that is still open.
pub async fn oldest(tx: &mut ReadTx) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(OLDEST).fetch_one(conn).await)
}

/// A row that this publisher alone may push until its lease ends.
#[derive(Debug)]
pub struct Lease {
    /// The key.
    pub key: DeploymentKey,
    /// How often it failed since the last success.
    pub attempts: i64,
    /// A write that begins before this does not close the row.
    pub unsettled_until: UnixMillis,
}

/// Keys that are due and not leased, the longest due first; at most `limit`.
pub async fn due(tx: &mut ReadTx, now: UnixMillis, limit: i64) -> sqlx::Result<Vec<DeploymentKey>> {
    on!(tx, |conn| sqlx::query_scalar(DUE).bind(now).bind(limit).fetch_all(conn).await)
}

/// Leases those of `keys` that are still due to `owner` until `until`.
pub async fn claim(
    tx: &mut WriteTx,
    mut keys: Vec<DeploymentKey>,
    owner: &str,
    now: UnixMillis,
    until: UnixMillis,
) -> sqlx::Result<Vec<Lease>> {
    keys.sort_unstable();
    let settled = now.plus_millis(SETTLING);
    let mut leases = Vec::with_capacity(keys.len());
    for key in keys {
        let claimed: Option<(i64, UnixMillis)> = on!(tx, |conn| sqlx::query_as(CLAIM)
            .bind(key.as_str())
            .bind(owner)
            .bind(until)
            .bind(settled)
            .bind(now)
            .fetch_optional(conn)
            .await)?;
        leases.extend(claimed.map(|(attempts, unsettled_until)| Lease { key, attempts, unsettled_until }));
    }
    Ok(leases)
}

/// Gives a lease back; nothing was sent.
pub async fn free(tx: &mut WriteTx, key: &DeploymentKey, owner: &str) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(FREE).bind(key.as_str()).bind(owner).execute(conn).await)?;
    Ok(())
}

/// The write failed for certain: nothing of it is in KV. It is tried again after `delay` milliseconds.
pub async fn refused(tx: &mut WriteTx, key: &DeploymentKey, owner: &str, now: UnixMillis, delay: i64) -> sqlx::Result<()> {
    back_off(tx, key, owner, now.plus_millis(delay), UnixMillis(0)).await?;
    Ok(())
}

/// Nobody knows what became of the write. It is repeated after `delay` milliseconds, and once more when it must have settled.
pub async fn lost(tx: &mut WriteTx, key: &DeploymentKey, owner: &str, now: UnixMillis, delay: i64) -> AppResult<()> {
    let settled = now.plus_millis(SETTLING);
    if !back_off(tx, key, owner, now.plus_millis(delay), settled).await? {
        enqueue(tx, key, now).await?;
        on_write!(tx, |conn| sqlx::query(DISTRUST).bind(key.as_str()).bind(settled).execute(conn).await)?;
    }
    Ok(())
}

async fn back_off(tx: &mut WriteTx, key: &DeploymentKey, owner: &str, next: UnixMillis, unsettled: UnixMillis) -> sqlx::Result<bool> {
    let changed =
        on_write!(tx, |conn| sqlx::query(BACK_OFF).bind(key.as_str()).bind(owner).bind(next).bind(unsettled).execute(conn).await)?;
    Ok(changed == 1)
}

/// KV has taken `version` by a write that began at `began`. Closes the row when that is still the newest and nothing older can follow it;
/// else the key is written once more. Gives whether the row was closed.
pub async fn written(tx: &mut WriteTx, lease: &Lease, owner: &str, version: i64, began: UnixMillis, now: UnixMillis) -> AppResult<bool> {
    let key = lease.key.as_str();
    let newest: i64 = on!(tx, |conn| sqlx::query_scalar(NOTE_WRITTEN).bind(key).bind(now).fetch_one(conn).await)?;
    let soonest = now.plus_millis(WRITE_SPACING);
    let is_newest = newest == version;
    let closes = is_newest && began >= lease.unsettled_until;
    let changed = if closes {
        on_write!(tx, |conn| sqlx::query(CLOSE).bind(key).bind(owner).execute(conn).await)?
    } else {
        let next = if is_newest { soonest.max(lease.unsettled_until) } else { soonest };
        on_write!(tx, |conn| sqlx::query(AGAIN).bind(key).bind(owner).bind(next).execute(conn).await)?
    };
    if changed == 1 {
        return Ok(closes);
    }
    // The lease ran out under way, and this write may have come after another publisher's newer one. Raising the version keeps that one
    // from closing the row on the strength of a write that was since undone.
    enqueue(tx, &lease.key, now).await?;
    Ok(false)
}
