//! What one deployment and one account may cost: how large snapshots may become, how many releases and ranges they may have.
//!
//! The size is counted in the transaction of the change, while the deployment is locked, and kept in its row. Only what would make a snapshot larger is
//! refused: whatever takes away is done, also in a deployment that is beyond a bound because it is older than that. A rollback takes away, unless it goes
//! back to a disabled release: that one is offered anew. Not here: what a snapshot that is too large leaves out, that is `shared`'s. Start reading at
//! [`admit`].

use shared::ids::{AccountId, AppId, DeploymentId};
use shared::snapshot::{Size, Sketch, json_length};

use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::deployments;
use crate::domain::error::{Error, Result};
use crate::domain::releases::ReleaseMethod;
use crate::domain::releases::repo::ReleaseRow;
use crate::infra::db::{ReadTx, Tx, WriteTx};
use crate::{on, on_write};

/// Releases of one deployment.
const MOST_RELEASES: usize = 10_000;
/// Rollbacks beyond that, so that there is a way back at the bound, too.
const MOST_ROLLBACKS: usize = 1_000;
/// Distinct ranges of one deployment's releases that can still be offered.
const MOST_RANGES: usize = 500;
/// Snapshots of more bytes than this count for their account.
const LARGE: u64 = 64 << 10;
/// The bytes of all large snapshots of one account.
const MOST_OF_ACCOUNT: u64 = 16 << 20;

/// Deployments that are measured in one round.
const BATCH: i64 = 50;

const SKETCHES: &str = "SELECT label, app_version, is_disabled, rollout, description_bytes FROM releases WHERE deployment_id = $1 \
    ORDER BY label DESC";
// Written by the version before this one, which knows nothing of sizes.
const UNKNOWN: &str = "SELECT label, CAST(OCTET_LENGTH(description) + 2 AS BIGINT) FROM releases \
    WHERE deployment_id = $1 AND description_bytes IS NULL AND description IS NOT NULL";
const ROLLBACKS: &str = "SELECT COUNT(*) FROM releases WHERE deployment_id = $1 AND release_method = 'Rollback'";
const NOTE: &str = "UPDATE deployments SET snapshot_bytes = $2 WHERE id = $1";
const OWNER: &str = "SELECT owner_id FROM apps WHERE id = $1";
// A deployment beyond its own bound has a snapshot that is not.
const OTHERS: &str = "SELECT CAST(COALESCE(SUM(CASE WHEN d.snapshot_bytes > $4 THEN $4 ELSE d.snapshot_bytes END), 0) AS BIGINT) \
    FROM deployments d JOIN apps a ON a.id = d.app_id WHERE a.owner_id = $1 AND d.id <> $2 AND d.snapshot_bytes > $3";
const UNMEASURED: &str = "SELECT id FROM deployments WHERE snapshot_bytes IS NULL ORDER BY id LIMIT $1";

/// Every statement of this file that both databases have.
pub const SQL: &[&str] = &[SKETCHES, UNKNOWN, ROLLBACKS, NOTE, OWNER, OTHERS, UNMEASURED];

/// Makes changes of one account's large snapshots serial until the transaction ends. SQLite has one writer, and no such statement.
const ONE_BY_ONE: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/// Statements that are only for PostgreSQL.
pub const POSTGRES_SQL: &[&str] = &[ONE_BY_ONE];

/// A change of a deployment's releases.
#[derive(Clone, Copy, Debug)]
pub enum Change<'r> {
    /// A release is added, on top of the others.
    New(&'r ReleaseRow),
    /// The release of this label becomes as it is here.
    Edit(&'r ReleaseRow),
}

/// A release as far as its space goes.
#[derive(Clone, Debug, sqlx::FromRow)]
struct SketchRow {
    label: i64,
    app_version: String,
    is_disabled: bool,
    rollout: Option<i64>,
    description_bytes: Option<i64>,
}

impl SketchRow {
    fn of(row: &ReleaseRow) -> Self {
        Self {
            label: row.label,
            app_version: row.app_version.clone(),
            is_disabled: row.is_disabled,
            rollout: row.rollout,
            description_bytes: Some(description_bytes(row)),
        }
    }

    fn sketch(&self) -> Sketch<'_> {
        // Whatever is stored beyond 100 is not unfinished.
        let rollout = self.rollout.and_then(|rollout| u8::try_from(rollout).ok());
        let description = self.description_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        Sketch { range: &self.app_version, is_disabled: self.is_disabled, rollout, description }
    }
}

/// What a release's description takes in a snapshot, as its row says it.
pub fn description_bytes(row: &ReleaseRow) -> i64 {
    row.description.as_deref().map_or(0, |text| i64::try_from(json_length(text)).unwrap_or(i64::MAX))
}

/// Refuses a change that would make the snapshot of a deployment that is locked too large, and notes its size otherwise. It comes before the change.
/// Errors: 409 with what to do.
pub async fn admit(tx: &mut WriteTx, app: &Context, of: &AppId, deployment: &DeploymentId, change: Change<'_>) -> Result<()> {
    let mut rows = sketches(tx, deployment).await?;
    let before = size(&rows);
    match change {
        Change::New(row) => rows.insert(0, SketchRow::of(row)),
        Change::Edit(row) => {
            if let Some(old) = rows.iter_mut().find(|old| old.label == row.label) {
                *old = SketchRow::of(row);
            }
        }
    }
    let (after, most_bytes) = (size(&rows), app.settings.limits.snapshot_bytes);
    let counts_for_account = match change {
        Change::New(row) => {
            let is_rollback = row.release_method == ReleaseMethod::Rollback;
            if rows.len() > MOST_RELEASES && !(is_rollback && rollbacks(tx, deployment).await? < MOST_ROLLBACKS) {
                return Err(Error::Conflict(Conflict::TooManyReleases(MOST_RELEASES)));
            }
            // The range of a release that is enabled counts already, so a rollback to one adds none.
            check_ranges(before, after)?;
            if !is_rollback {
                check_bytes(before, after, most_bytes)?;
            }
            !is_rollback || is_of_disabled(row, &rows)
        }
        // What it hid may be offered again and take more than it did; withdrawing a release must be possible all the same.
        Change::Edit(row) if row.is_disabled => false,
        Change::Edit(_) => {
            check_ranges(before, after)?;
            check_bytes(before, after, most_bytes)?;
            true
        }
    };
    if counts_for_account && after.bytes > LARGE && after.bytes > before.bytes {
        check_account(tx, of, deployment, after.bytes, most_bytes).await?;
    }
    note(tx, deployment, after).await
}

/// Whether a rollback brings back a release that nobody is offered now.
fn is_of_disabled(rollback: &ReleaseRow, rows: &[SketchRow]) -> bool {
    rows.iter().any(|row| Some(row.label) == rollback.original_label && row.is_disabled)
}

fn check_ranges(before: Size, after: Size) -> Result<()> {
    if after.ranges > MOST_RANGES && after.ranges > before.ranges {
        return Err(Error::Conflict(Conflict::TooManyRanges(MOST_RANGES)));
    }
    Ok(())
}

fn check_bytes(before: Size, after: Size, most_bytes: u64) -> Result<()> {
    if after.bytes > most_bytes && after.bytes > before.bytes {
        return Err(Error::Conflict(Conflict::SnapshotTooLarge { bytes: after.bytes, limit: most_bytes }));
    }
    Ok(())
}

async fn check_account(tx: &mut WriteTx, app: &AppId, deployment: &DeploymentId, bytes: u64, most_bytes: u64) -> Result<()> {
    let owner: AccountId = on!(tx, |conn| sqlx::query_scalar(OWNER).bind(app).fetch_one(conn).await)?;
    if let Tx::Postgres(tx) = tx.parts() {
        sqlx::query(ONE_BY_ONE).bind(&owner).execute(&mut **tx).await?;
    }
    let [large, most] = [LARGE, most_bytes].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let others: i64 =
        on!(tx, |conn| sqlx::query_scalar(OTHERS).bind(&owner).bind(deployment).bind(large).bind(most).fetch_one(conn).await)?;
    let sum = bytes.saturating_add(u64::try_from(others).unwrap_or(0));
    if sum <= MOST_OF_ACCOUNT {
        return Ok(());
    }
    Err(Error::Conflict(Conflict::SnapshotsTooLarge { bytes: sum, limit: MOST_OF_ACCOUNT }))
}

async fn rollbacks(tx: &mut ReadTx, deployment: &DeploymentId) -> Result<usize> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(ROLLBACKS).bind(deployment).fetch_one(conn).await)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// The deployment's releases, newest first.
async fn sketches(tx: &mut ReadTx, deployment: &DeploymentId) -> Result<Vec<SketchRow>> {
    let mut rows: Vec<SketchRow> = on!(tx, |conn| sqlx::query_as(SKETCHES).bind(deployment).fetch_all(conn).await)?;
    if rows.iter().any(|row| row.description_bytes.is_none()) {
        let unknown: Vec<(i64, i64)> = on!(tx, |conn| sqlx::query_as(UNKNOWN).bind(deployment).fetch_all(conn).await)?;
        let unknown: std::collections::HashMap<i64, i64> = unknown.into_iter().collect();
        for row in rows.iter_mut().filter(|row| row.description_bytes.is_none()) {
            row.description_bytes = unknown.get(&row.label).copied();
        }
    }
    Ok(rows)
}

fn size(newest_first: &[SketchRow]) -> Size {
    Size::of(newest_first.iter().map(SketchRow::sketch))
}

async fn note(tx: &mut WriteTx, deployment: &DeploymentId, size: Size) -> Result<()> {
    let bytes = i64::try_from(size.bytes).map_err(Error::internal)?;
    on_write!(tx, |conn| sqlx::query(NOTE).bind(deployment).bind(bytes).execute(conn).await)?;
    Ok(())
}

/// Measures deployments that were made before sizes were kept, each in a transaction of its own; whether there may be more.
pub async fn measure(app: &Context) -> Result<bool> {
    let ids: Vec<DeploymentId> = {
        let mut tx = app.db.read().await?;
        on!(tx, |conn| sqlx::query_scalar(UNMEASURED).bind(BATCH).fetch_all(conn).await)?
    };
    let is_full = i64::try_from(ids.len()).unwrap_or(BATCH) >= BATCH;
    for id in ids {
        let mut tx = app.db.write().await?;
        if deployments::repo::lock(&mut tx, &id).await?.is_some() {
            let rows = sketches(&mut tx, &id).await?;
            note(&mut tx, &id, size(&rows)).await?;
            tx.commit().await?;
        }
    }
    Ok(is_full)
}
