//! Outbox work for snapshots: keys whose newest version may be missing in KV. [`crate::jobs::snapshots`] argues why this is correct.
//!
//! Lock order: `deployment_keys` before `outbox`, and lower keys before higher ones. So writers wait for each other but cannot deadlock.

use shared::ids::AppId;
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::domain::error::{Error, Result};
use crate::domain::outbox::{self, Kind, Lease, SETTLING, Work};
use crate::infra::db::{ReadTx, WriteTx};
use crate::on;

/// KV accepts one write per key and second, in milliseconds.
pub const WRITE_SPACING: i64 = 1_000;

const RAISE: &str = "UPDATE deployment_keys SET snapshot_version = CASE WHEN snapshot_version >= $2 THEN snapshot_version + 1 ELSE $2 END \
    WHERE deployment_key = $1 RETURNING snapshot_written_time";
const RAISE_ABOVE: &str = "UPDATE deployment_keys SET snapshot_version = $3 \
    WHERE deployment_key = $1 AND snapshot_version < $2 RETURNING snapshot_written_time";
const WRITTEN_TIME: &str = "SELECT snapshot_written_time FROM deployment_keys WHERE deployment_key = $1";
// Also locks the key's row: a concurrent change commits before this continues, or waits until this has committed.
const RECORD_WRITE: &str = "UPDATE deployment_keys SET snapshot_written_time = $2 WHERE deployment_key = $1 RETURNING snapshot_version";

const KEYS_AFTER: &str = "SELECT deployment_key FROM deployment_keys WHERE deployment_key > $1 ORDER BY deployment_key LIMIT $2";

const VERSIONS: &str = "SELECT deployment_key, snapshot_version FROM deployment_keys WHERE app_id = $1 ORDER BY deployment_key";
const LOCK_VERSIONS: &str =
    "SELECT deployment_key, snapshot_version FROM deployment_keys WHERE app_id = $1 ORDER BY deployment_key FOR NO KEY UPDATE";

/// Every statement of this file.
pub const SQL: &[&str] = &[RAISE, RAISE_ABOVE, WRITTEN_TIME, RECORD_WRITE, KEYS_AFTER, VERSIONS, LOCK_VERSIONS];

/// A deployment key and the version of its newest snapshot.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Version {
    /// The key.
    pub deployment_key: DeploymentKey,
    /// The version.
    pub snapshot_version: i64,
}

/// The versions of the app's snapshots: each change of a release raises one.
pub async fn versions(tx: &mut ReadTx, app: &AppId) -> sqlx::Result<Vec<Version>> {
    on!(tx, |conn| sqlx::query_as(VERSIONS).bind(app).fetch_all(conn).await)
}

/// Like [`versions`]. No release of the app changes until the transaction ends.
pub async fn lock_versions(tx: &mut WriteTx, app: &AppId) -> sqlx::Result<Vec<Version>> {
    let sql = tx.locking(LOCK_VERSIONS);
    on!(tx, |conn| sqlx::query_as(sql).bind(app).fetch_all(conn).await)
}

/// Raises the key's snapshot version to max(version + 1, now) and writes (or keeps) its outbox row, in the change's transaction.
///
/// A change that affects several keys calls this in key order.
pub async fn enqueue(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> Result<()> {
    raise(tx, key.as_str(), now).await
}

async fn raise(tx: &mut WriteTx, key: &str, now: UnixMillis) -> Result<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE).bind(key).bind(now).fetch_optional(conn).await)?;
    enqueue_row(tx, key, written.ok_or_else(no_such_key)?, now).await
}

/// Requests another write of the key's newest snapshot, at the same version.
pub async fn repeat(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis) -> Result<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(WRITTEN_TIME).bind(key.as_str()).fetch_optional(conn).await)?;
    enqueue_row(tx, key.as_str(), written.ok_or_else(no_such_key)?, now).await
}

/// The next keys in their order, those of deleted deployments included.
pub async fn keys_after(tx: &mut ReadTx, last: &str, count: i64) -> sqlx::Result<Vec<DeploymentKey>> {
    on!(tx, |conn| sqlx::query_scalar(KEYS_AFTER).bind(last).bind(count).fetch_all(conn).await)
}

/// Like [`repeat`], not before `due`: so that many such writes do not stand before a change.
pub async fn repeat_later(tx: &mut WriteTx, key: &DeploymentKey, now: UnixMillis, due: UnixMillis) -> Result<()> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(WRITTEN_TIME).bind(key.as_str()).fetch_optional(conn).await)?;
    let due = spaced(written.ok_or_else(no_such_key)?, now).max(due);
    // Waiting until it is due is no lag, so the row counts from then on.
    Ok(outbox::enqueue(tx, Work { kind: Kind::Snapshot, key: key.as_str(), payload: None, due }, due).await?)
}

/// Raises the key's version above `seen`, the version in KV, and requests a write. `false` if it is already higher.
pub async fn raise_above(tx: &mut WriteTx, key: &DeploymentKey, seen: i64, now: UnixMillis) -> Result<bool> {
    let written: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(RAISE_ABOVE)
        .bind(key.as_str())
        .bind(seen)
        .bind(seen.saturating_add(1))
        .fetch_optional(conn)
        .await)?;
    match written {
        Some(written) => enqueue_row(tx, key.as_str(), written, now).await.map(|()| true),
        None => Ok(false),
    }
}

fn no_such_key() -> Error {
    Error::internal("snapshot requested for a deployment key without a row")
}

async fn enqueue_row(tx: &mut WriteTx, key: &str, written: UnixMillis, now: UnixMillis) -> Result<()> {
    let due = spaced(written, now);
    Ok(outbox::enqueue(tx, Work { kind: Kind::Snapshot, key, payload: None, due }, now).await?)
}

/// When a key that KV accepted at `written` may be written again. Never more than one spacing ahead: after a clock was set back, the key must not wait
/// until the clock has caught up.
fn spaced(written: UnixMillis, now: UnixMillis) -> UnixMillis {
    written.plus_millis(WRITE_SPACING).clamp(now, now.plus_millis(WRITE_SPACING))
}

/// The write failed for certain: KV has nothing of it. It is retried after `delay` milliseconds.
pub async fn record_refusal(tx: &mut WriteTx, lease: &Lease, now: UnixMillis, delay: i64) -> sqlx::Result<()> {
    outbox::retry_later(tx, lease, now.plus_millis(delay), UnixMillis(0)).await?;
    Ok(())
}

/// The outcome of the write is unknown. It is repeated after `delay` milliseconds, and once more when it must have settled.
pub async fn record_unknown_outcome(tx: &mut WriteTx, lease: &Lease, now: UnixMillis, delay: i64) -> Result<()> {
    let settled = now.plus_millis(SETTLING);
    if !outbox::retry_later(tx, lease, now.plus_millis(delay), settled).await? {
        raise(tx, &lease.key, now).await?;
        outbox::mark_unsettled(tx, lease, settled).await?;
    }
    Ok(())
}

/// KV has accepted `version` in a write that began at `began`. Deletes the row if that is still the newest version and no older write can follow;
/// otherwise the key is written once more. Returns whether the row was deleted.
pub async fn record_success(tx: &mut WriteTx, lease: &Lease, version: i64, began: UnixMillis, now: UnixMillis) -> Result<bool> {
    let newest: i64 = on!(tx, |conn| sqlx::query_scalar(RECORD_WRITE).bind(&lease.key).bind(now).fetch_one(conn).await)?;
    let soonest = now.plus_millis(WRITE_SPACING);
    let is_newest = newest == version;
    let deletes = is_newest && began >= lease.unsettled_until;
    let is_owner = if deletes {
        outbox::delete(tx, lease).await?
    } else {
        let next = if is_newest { soonest.max(lease.unsettled_until) } else { soonest };
        outbox::requeue(tx, lease, next).await?
    };
    if is_owner {
        return Ok(deletes);
    }
    // The lease expired during the write, which may have reached KV after another publisher's newer one. Raising the version keeps that publisher
    // from deleting the row for a write that this one has overwritten.
    raise(tx, &lease.key, now).await?;
    Ok(false)
}
