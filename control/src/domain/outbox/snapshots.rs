//! The work of pushing snapshots: which keys KV may not have in their newest version. Why this suffices is argued at [`crate::jobs::snapshots`].
//!
//! Lock order: `deployment_keys` before `outbox`, and lower keys before higher ones. So writers wait for each other but cannot deadlock.

use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use super::{Kind, Lease, SETTLING, Work};
use crate::domain::error::{Error, Result};
use crate::infra::db::WriteTx;
use crate::{on, on_write};

/// KV takes one write of a key per second, in milliseconds.
pub const WRITE_SPACING: i64 = 1_000;

const RAISE: &str = "UPDATE deployment_keys SET snapshot_version = CASE WHEN snapshot_version >= $2 THEN snapshot_version + 1 ELSE $2 END \
    WHERE deployment_key = $1 RETURNING snapshot_written_time";
const RAISE_ABOVE: &str = "UPDATE deployment_keys SET snapshot_version = $3 \
    WHERE deployment_key = $1 AND snapshot_version < $2 RETURNING snapshot_written_time";
const WRITTEN_TIME: &str = "SELECT snapshot_written_time FROM deployment_keys WHERE deployment_key = $1";
// Also locks the key's row: a change that is under way commits before this goes on, or waits until this has committed.
const NOTE_WRITTEN: &str = "UPDATE deployment_keys SET snapshot_written_time = $2 WHERE deployment_key = $1 RETURNING snapshot_version";
const AGAIN: &str = "UPDATE outbox SET lease_owner = NULL, lease_until = 0, attempts = 0, next_attempt_time = $3 \
    WHERE kind = 'snapshot' AND key = $1 AND lease_owner = $2";
const DISTRUST: &str = "UPDATE outbox SET unsettled_until = $2 WHERE kind = 'snapshot' AND key = $1 AND unsettled_until < $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[RAISE, RAISE_ABOVE, WRITTEN_TIME, NOTE_WRITTEN, AGAIN, DISTRUST];

/// Raises the key's snapshot version to max(version + 1, now) and writes (or keeps) its outbox row, in the change's own transaction.
///
/// A change that concerns several keys calls this in the order of the keys.
pub async fn enqueue(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> Result<()> {
    raise(tx, key.as_str(), now).await
}

async fn raise(tx: &mut WriteTx, key: &str, now: UnixMillis) -> Result<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE).bind(key).bind(now).fetch_optional(conn).await)?;
    open(tx, key, written.ok_or_else(no_such_key)?, now).await
}

/// Asks for the key's newest snapshot to be written again, as it is.
pub async fn repeat(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> Result<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(WRITTEN_TIME).bind(key.as_str()).fetch_optional(conn).await)?;
    open(tx, key.as_str(), written.ok_or_else(no_such_key)?, now).await
}

/// Raises the key's version above `seen`, which KV has, and asks for a write; `false` when it is above already.
pub async fn raise_above(tx: &mut WriteTx, key: &DeploymentKey, seen: i64, now: UnixMillis) -> Result<bool> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE_ABOVE)
        .bind(key.as_str())
        .bind(seen)
        .bind(seen.saturating_add(1))
        .fetch_optional(conn)
        .await)?;
    match written {
        Some(written) => open(tx, key.as_str(), written, now).await.map(|()| true),
        None => Ok(false),
    }
}

fn no_such_key() -> Error {
    Error::internal("a snapshot was asked for of a deployment key without a row")
}

async fn open(tx: &mut WriteTx, key: &str, written: UnixMillis, now: UnixMillis) -> Result<()> {
    // Never more than one spacing ahead: a clock that was set back must not hold up the key until it has caught up.
    let due = written.plus_millis(WRITE_SPACING).clamp(now, now.plus_millis(WRITE_SPACING));
    Ok(super::enqueue(tx, Work { kind: Kind::Snapshot, key, payload: None, due }, now).await?)
}

/// The write failed for certain: nothing of it is in KV. It is tried again after `delay` milliseconds.
pub async fn refused(tx: &mut WriteTx, lease: &Lease, now: UnixMillis, delay: i64) -> sqlx::Result<()> {
    super::back_off(tx, lease, now.plus_millis(delay), UnixMillis(0)).await?;
    Ok(())
}

/// Nobody knows what became of the write. It is repeated after `delay` milliseconds, and once more when it must have settled.
pub async fn lost(tx: &mut WriteTx, lease: &Lease, now: UnixMillis, delay: i64) -> Result<()> {
    let settled = now.plus_millis(SETTLING);
    if !super::back_off(tx, lease, now.plus_millis(delay), settled).await? {
        raise(tx, &lease.key, now).await?;
        on_write!(tx, |conn| sqlx::query(DISTRUST).bind(&lease.key).bind(settled).execute(conn).await)?;
    }
    Ok(())
}

/// KV has taken `version` by a write that began at `began`. Closes the row when that is still the newest and nothing older can follow it;
/// else the key is written once more. Gives whether the row was closed.
pub async fn written(tx: &mut WriteTx, lease: &Lease, version: i64, began: UnixMillis, now: UnixMillis) -> Result<bool> {
    let (key, owner) = (&lease.key, &lease.owner);
    let newest: i64 = on!(tx, |conn| sqlx::query_scalar(NOTE_WRITTEN).bind(key).bind(now).fetch_one(conn).await)?;
    let soonest = now.plus_millis(WRITE_SPACING);
    let is_newest = newest == version;
    let closes = is_newest && began >= lease.unsettled_until;
    let is_owner = if closes {
        super::close(tx, lease).await?
    } else {
        let next = if is_newest { soonest.max(lease.unsettled_until) } else { soonest };
        on_write!(tx, |conn| sqlx::query(AGAIN).bind(key).bind(owner).bind(next).execute(conn).await)? == 1
    };
    if is_owner {
        return Ok(closes);
    }
    // The lease ran out under way, and this write may have come after another publisher's newer one. Raising the version keeps that one
    // from closing the row on the strength of a write that was since undone.
    raise(tx, key, now).await?;
    Ok(false)
}
