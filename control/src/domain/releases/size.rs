//! Size limits per deployment and account: bytes of snapshots, number of releases and of version ranges.
//!
//! The size is computed in the change's transaction, with the deployment locked, and stored in its row. Only changes that make a snapshot larger are
//! refused. A change that makes it smaller always works, even in a deployment that is over a limit because it is older than the limit. A rollback
//! makes it smaller, unless it goes back to a disabled release, which is then offered again. Not here: what an oversized snapshot leaves out, which
//! is in `shared`. Start reading at [`check_quota`].

use shared::ids::{AccountId, AppId, DeploymentId};
use shared::snapshot::{ReleaseOutline, Size, json_length};

use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments;
use crate::domain::error::{Error, Result};
use crate::domain::releases::ReleaseMethod;
use crate::domain::releases::repo::ReleaseRow;
use crate::infra::db::{ReadTx, Tx, WriteTx};
use crate::on;

/// Releases per deployment.
pub const MAX_RELEASES: usize = 10_000;
/// Rollbacks allowed on top, so that rolling back works at the limit too.
const MAX_EXTRA_ROLLBACKS: usize = 1_000;
/// Distinct version ranges among a deployment's releases that can still be offered.
pub const MAX_RANGES: usize = 500;
/// Snapshots larger than this, in bytes, count against the limit of their account.
pub const LARGE_SNAPSHOT: u64 = 64 << 10;
/// Total bytes of all large snapshots of one account.
const MAX_LARGE_BYTES: u64 = 16 << 20;

/// Deployments measured per round.
const BATCH: i64 = 50;

const OUTLINES: &str = "SELECT label, app_version, is_disabled, rollout, description_bytes FROM releases WHERE deployment_id = $1 \
    ORDER BY label DESC";
// Rows written by the previous version, which does not store sizes.
const UNKNOWN_DESCRIPTIONS: &str = "SELECT label, CAST(OCTET_LENGTH(description) + 2 AS BIGINT) FROM releases \
    WHERE deployment_id = $1 AND description_bytes IS NULL AND description IS NOT NULL";
const ROLLBACKS: &str = "SELECT COUNT(*) FROM releases WHERE deployment_id = $1 AND release_method = 'Rollback'";
const OWNER: &str = "SELECT owner_id FROM apps WHERE id = $1";
// A deployment over its own limit still has a snapshot within it.
const OTHERS: &str = "SELECT CAST(COALESCE(SUM(CASE WHEN d.snapshot_bytes > $4 THEN $4 ELSE d.snapshot_bytes END), 0) AS BIGINT) \
    FROM deployments d JOIN apps a ON a.id = d.app_id WHERE a.owner_id = $1 AND d.id <> $2 AND d.snapshot_bytes > $3";
const UNMEASURED: &str = "SELECT id FROM deployments WHERE snapshot_bytes IS NULL ORDER BY id LIMIT $1";

/// Every statement of this file that both databases support.
pub const SQL: &[&str] = &[OUTLINES, UNKNOWN_DESCRIPTIONS, ROLLBACKS, OWNER, OTHERS, UNMEASURED];

/// Serializes changes to one account's large snapshots until the transaction ends. SQLite has a single writer, and no such statement.
const SERIALIZE: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/// Statements for PostgreSQL only.
pub const POSTGRES_SQL: &[&str] = &[SERIALIZE];

/// A change to a deployment's releases.
#[derive(Clone, Copy, Debug)]
pub enum Change<'r> {
    /// Adds a release on top of the others.
    New(&'r ReleaseRow),
    /// Replaces the release with the same label.
    Edit(&'r ReleaseRow),
}

/// What determines a release's size in the snapshot.
#[derive(Clone, Debug, sqlx::FromRow)]
struct OutlineRow {
    label: i64,
    app_version: String,
    is_disabled: bool,
    rollout: Option<i64>,
    description_bytes: Option<i64>,
}

impl OutlineRow {
    fn of(row: &ReleaseRow) -> Self {
        Self {
            label: row.label,
            app_version: row.app_version.clone(),
            is_disabled: row.is_disabled,
            rollout: row.rollout,
            description_bytes: Some(description_bytes(row)),
        }
    }

    fn outline(&self) -> ReleaseOutline<'_> {
        // A stored value beyond 100 is not an unfinished rollout.
        let rollout = self.rollout.and_then(|rollout| u8::try_from(rollout).ok());
        let description = self.description_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        ReleaseOutline { range: &self.app_version, is_disabled: self.is_disabled, rollout, description }
    }
}

/// The bytes that a release's description takes in a snapshot, as stored in its row.
pub fn description_bytes(row: &ReleaseRow) -> i64 {
    row.description.as_deref().map_or(0, |text| i64::try_from(json_length(text)).unwrap_or(i64::MAX))
}

/// Refuses a change that would make the snapshot of a locked deployment too large, else stores the new size. Call it before the change. Errors: 409
/// with what to do.
pub async fn check_quota(tx: &mut WriteTx, app: &Context, of: &AppId, deployment: &DeploymentId, change: Change<'_>) -> Result<()> {
    let mut rows = outlines(tx, deployment).await?;
    let before = size(&rows);
    match change {
        Change::New(row) => rows.insert(0, OutlineRow::of(row)),
        Change::Edit(row) => {
            if let Some(old) = rows.iter_mut().find(|old| old.label == row.label) {
                *old = OutlineRow::of(row);
            }
        }
    }
    let (after, max_bytes) = (size(&rows), app.settings.limits.snapshot_bytes);
    let counts_for_account = match change {
        Change::New(row) => {
            let is_rollback = row.release_method == ReleaseMethod::Rollback;
            if rows.len() > MAX_RELEASES && !(is_rollback && rollbacks(tx, deployment).await? < MAX_EXTRA_ROLLBACKS) {
                return Err(Error::Conflict(Conflict::TooManyReleases(MAX_RELEASES)));
            }
            // The range of an enabled release counts already, so a rollback to one adds none.
            check_ranges(before, after)?;
            if !is_rollback {
                check_bytes(before, after, max_bytes)?;
            }
            !is_rollback || restores_disabled(row, &rows)
        }
        // Releases that it hid may be offered again and take more space. Disabling a release must work all the same.
        Change::Edit(row) if row.is_disabled => false,
        Change::Edit(_) => {
            check_ranges(before, after)?;
            check_bytes(before, after, max_bytes)?;
            true
        }
    };
    if counts_for_account && after.bytes > LARGE_SNAPSHOT && after.bytes > before.bytes {
        check_account(tx, of, deployment, after.bytes, max_bytes).await?;
    }
    note(tx, deployment, after).await
}

/// Checks the size of a locked deployment whose releases were just changed, and stores it. `is_limited` is false for an import that goes beyond the limits
/// on purpose. Errors: 409.
pub async fn check_whole(tx: &mut WriteTx, app: &Context, of: &AppId, deployment: &DeploymentId, is_limited: bool) -> Result<()> {
    let rows = outlines(tx, deployment).await?;
    let (nothing, after, max_bytes) = (size(&[]), size(&rows), app.settings.limits.snapshot_bytes);
    if rows.len() > MAX_RELEASES {
        return Err(Error::Conflict(Conflict::TooManyReleases(MAX_RELEASES)));
    }
    check_ranges(nothing, after)?;
    check_bytes(nothing, after, max_bytes)?;
    if is_limited && after.bytes > LARGE_SNAPSHOT {
        check_account(tx, of, deployment, after.bytes, max_bytes).await?;
    }
    note(tx, deployment, after).await
}

/// Whether a rollback goes back to a release that is disabled now.
fn restores_disabled(rollback: &ReleaseRow, rows: &[OutlineRow]) -> bool {
    rows.iter().any(|row| Some(row.label) == rollback.original_label && row.is_disabled)
}

fn check_ranges(before: Size, after: Size) -> Result<()> {
    if after.ranges > MAX_RANGES && after.ranges > before.ranges {
        return Err(Error::Conflict(Conflict::TooManyRanges(MAX_RANGES)));
    }
    Ok(())
}

fn check_bytes(before: Size, after: Size, max_bytes: u64) -> Result<()> {
    if after.bytes > max_bytes && after.bytes > before.bytes {
        return Err(Error::Conflict(Conflict::SnapshotTooLarge { bytes: after.bytes, limit: max_bytes }));
    }
    Ok(())
}

async fn check_account(tx: &mut WriteTx, app: &AppId, deployment: &DeploymentId, bytes: u64, max_bytes: u64) -> Result<()> {
    let owner: AccountId = on!(tx, |conn| sqlx::query_scalar(OWNER).bind(app).fetch_one(conn).await)?;
    if let Tx::Postgres(tx) = tx.parts() {
        sqlx::query(SERIALIZE).bind(&owner).execute(&mut **tx).await?;
    }
    let [large, max] = [LARGE_SNAPSHOT, max_bytes].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let others: i64 = on!(tx, |conn| sqlx::query_scalar(OTHERS).bind(&owner).bind(deployment).bind(large).bind(max).fetch_one(conn).await)?;
    let sum = bytes.saturating_add(u64::try_from(others).unwrap_or(0));
    if sum <= MAX_LARGE_BYTES {
        return Ok(());
    }
    Err(Error::Conflict(Conflict::SnapshotsTooLarge { bytes: sum, limit: MAX_LARGE_BYTES }))
}

/// The bytes of an account's large snapshots, and how many there may be.
pub async fn large_snapshots(tx: &mut ReadTx, app: &Context, account: &AccountId) -> Result<(i64, u64)> {
    let [large, max] = [LARGE_SNAPSHOT, app.settings.limits.snapshot_bytes].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    // Of all deployments: none has an empty ID.
    let bytes = on!(tx, |conn| sqlx::query_scalar(OTHERS).bind(account).bind("").bind(large).bind(max).fetch_one(conn).await)?;
    Ok((bytes, MAX_LARGE_BYTES))
}

async fn rollbacks(tx: &mut ReadTx, deployment: &DeploymentId) -> Result<usize> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(ROLLBACKS).bind(deployment).fetch_one(conn).await)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// The deployment's releases, newest first.
async fn outlines(tx: &mut ReadTx, deployment: &DeploymentId) -> Result<Vec<OutlineRow>> {
    let mut rows: Vec<OutlineRow> = on!(tx, |conn| sqlx::query_as(OUTLINES).bind(deployment).fetch_all(conn).await)?;
    if rows.iter().any(|row| row.description_bytes.is_none()) {
        let unknown: Vec<(i64, i64)> = on!(tx, |conn| sqlx::query_as(UNKNOWN_DESCRIPTIONS).bind(deployment).fetch_all(conn).await)?;
        let unknown: std::collections::HashMap<i64, i64> = unknown.into_iter().collect();
        for row in rows.iter_mut().filter(|row| row.description_bytes.is_none()) {
            row.description_bytes = unknown.get(&row.label).copied();
        }
    }
    Ok(rows)
}

fn size(newest_first: &[OutlineRow]) -> Size {
    Size::of(newest_first.iter().map(OutlineRow::outline))
}

async fn note(tx: &mut WriteTx, deployment: &DeploymentId, size: Size) -> Result<()> {
    let bytes = i64::try_from(size.bytes).map_err(Error::internal)?;
    deployments::repo::note_size(tx, deployment, bytes).await?;
    Ok(())
}

/// Measures deployments created before sizes were stored, each in its own transaction. Returns whether there may be more.
pub async fn measure(app: &Context) -> Result<bool> {
    let ids: Vec<DeploymentId> = {
        let mut tx = app.db.read().await?;
        on!(tx, |conn| sqlx::query_scalar(UNMEASURED).bind(BATCH).fetch_all(conn).await)?
    };
    let is_full = i64::try_from(ids.len()).unwrap_or(BATCH) >= BATCH;
    for id in ids {
        let mut tx = app.db.write().await?;
        if deployments::repo::lock(&mut tx, &id).await?.is_some() {
            let rows = outlines(&mut tx, &id).await?;
            note(&mut tx, &id, size(&rows)).await?;
            tx.commit().await?;
        }
    }
    Ok(is_full)
}
