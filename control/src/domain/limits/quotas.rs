//! Quotas: how much one account may have.
//!
//! Apps, deployments, collaborators and bytes count for the app's owner. Bytes of diffs have a budget of their own. Bytes are never freed: what a deleted app stored is kept and still counts.
//! Lowering a quota does not affect what exists. Each check runs in the change's transaction, with the parent row locked, so two concurrent changes
//! cannot both pass.

use shared::ids::{AccountId, AppId};
use shared::limit::Rate;
use shared::time::UnixMillis;

use super::settings::Quotas;
use crate::domain::audit::{Actor, ClientAddress};
use crate::domain::context::Context;
use crate::domain::error::{Error, Quota, Result};
use crate::domain::limits::{self, Limit, Subject};
use crate::domain::traces;
use crate::infra::db::{ReadTx, WriteTx};
use crate::on;

const APPS: &str = "SELECT COUNT(*) FROM apps WHERE owner_id = $1";
const DEPLOYMENTS: &str = "SELECT COUNT(*) FROM deployments WHERE app_id = $1";
const KEPT_KEYS: &str = "SELECT COUNT(*) FROM deployment_keys WHERE account_id = $1 AND deployment_id IS NULL";
const KEPT_KEYS_OF_APP: &str = "SELECT COUNT(*) FROM deployment_keys WHERE app_id = $1 AND account_id = $2 AND deployment_id IS NULL";
// Excludes sessions and CLI credentials, which have limits of their own.
const ACCESS_KEYS: &str = "SELECT COUNT(*) FROM access_keys WHERE account_id = $1 AND NOT is_session AND credential_origin IS NULL";
const COLLABORATORS: &str = "SELECT COUNT(*) FROM collaborators WHERE app_id = $1";
const STORED_BYTES: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE account_id = $1 AND NOT is_diff";
const STORED_BYTES_OF_OWNER: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE NOT is_diff AND account_id = (SELECT a.owner_id FROM apps a WHERE a.id = $1)";
const DIFF_BYTES: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE account_id = $1 AND is_diff";
const DIFF_BYTES_OF_OWNER: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE is_diff AND account_id = (SELECT a.owner_id FROM apps a WHERE a.id = $1)";
const DIFF_BYTES_OF_APP: &str =
    "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE app_id = $1 AND account_id = $2 AND is_diff";
// Bytes of the app's earlier owners count for those.
const LARGEST_DROPPED_DIFF: &str = "SELECT COALESCE(MAX(b.size), 0) FROM blobs b JOIN apps a ON a.id = b.app_id AND a.owner_id = b.account_id \
    WHERE b.app_id = $1 AND b.is_diff AND b.deleting = FALSE \
    AND b.sha256 NOT IN (SELECT p.blob_sha256 FROM package_diffs p WHERE p.app_id = $1 AND p.blob_sha256 IS NOT NULL)";
const BYTES_OF_APP: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE app_id = $1 AND NOT is_diff";
const BY_APP: &str = "SELECT a.name, (SELECT COUNT(*) FROM deployments d WHERE d.app_id = a.id) AS deployments, \
    (SELECT COUNT(*) FROM collaborators c WHERE c.app_id = a.id) AS collaborators, \
    (SELECT CAST(COALESCE(SUM(b.size), 0) AS BIGINT) FROM blobs b WHERE b.app_id = a.id AND NOT b.is_diff) AS stored_bytes \
    FROM apps a WHERE a.owner_id = $1 ORDER BY stored_bytes DESC, deployments DESC, a.name LIMIT $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    APPS,
    DEPLOYMENTS,
    KEPT_KEYS,
    KEPT_KEYS_OF_APP,
    ACCESS_KEYS,
    COLLABORATORS,
    STORED_BYTES,
    STORED_BYTES_OF_OWNER,
    DIFF_BYTES,
    DIFF_BYTES_OF_OWNER,
    DIFF_BYTES_OF_APP,
    LARGEST_DROPPED_DIFF,
    BYTES_OF_APP,
    BY_APP,
];

/// The maximum number of apps in [`Usage::by_app`].
pub const MAX_LISTED: i64 = 50;

/// Deployments that an account may create per day: each leaves a key that is never reused.
const DEPLOYMENTS_A_DAY: Rate = Rate { count: 200, window: 86_400_000 };

/// App renames that an account may do per day: each old name is kept for every collaborator who has accepted the app.
const RENAMES_A_DAY: Rate = Rate { count: 200, window: 86_400_000 };

/// Bytes of diffs that an account with few bundles may have.
const MIN_DIFF_BYTES: u64 = 50 << 20;

/// Keys of deleted deployments kept per account.
const MAX_KEPT_KEYS: i64 = 2_000;

impl Quotas {
    /// Checks that the account may have one more app. Its row must be locked. Errors: 409.
    pub async fn check_apps(&self, tx: &mut ReadTx, owner: &AccountId) -> Result<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(APPS).bind(owner).fetch_one(conn).await)?;
        check(count, self.apps, Quota::Apps)
    }

    /// Checks that an app may move from `from` to `to`, whose row must be locked. The app takes its stored bytes and the keys of its deleted
    /// deployments along. Errors: 409.
    pub async fn check_received(&self, tx: &mut ReadTx, app: &AppId, from: &AccountId, to: &AccountId) -> Result<()> {
        self.check_apps(tx, to).await?;
        let keys: i64 = on!(tx, |conn| sqlx::query_scalar(KEPT_KEYS_OF_APP).bind(app).bind(from).fetch_one(conn).await)?;
        if keys > 0 {
            check_kept_keys(tx, to, keys).await?;
        }
        let bytes: i64 = on!(tx, |conn| sqlx::query_scalar(BYTES_OF_APP).bind(app).fetch_one(conn).await)?;
        if bytes > 0 {
            let stored: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES).bind(to).fetch_one(conn).await)?;
            self.check_bytes(stored.saturating_add(bytes))?;
        }
        Ok(())
    }

    /// Checks that the account may have one more named access key. Its row must be locked. Errors: 409.
    pub async fn check_access_keys(&self, tx: &mut ReadTx, account: &AccountId) -> Result<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(ACCESS_KEYS).bind(account).fetch_one(conn).await)?;
        check(count, self.access_keys, Quota::AccessKeys)
    }

    /// Checks that the app may have one more collaborator. Its row must be locked. Errors: 409.
    pub async fn check_collaborators(&self, tx: &mut ReadTx, app: &AppId) -> Result<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(COLLABORATORS).bind(app).fetch_one(conn).await)?;
        check(count, self.collaborators, Quota::Collaborators)
    }

    /// Checks that `more` bytes of bundles fit into the storage quota of the app's owner. Errors: 409.
    pub async fn check_stored_bytes(&self, tx: &mut ReadTx, app: &AppId, more: u64) -> Result<()> {
        // The current owner: the app may have been transferred during the upload.
        let stored: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES_OF_OWNER).bind(app).fetch_one(conn).await)?;
        self.check_bytes(stored.saturating_add(i64::try_from(more).unwrap_or(i64::MAX)))
    }

    /// What the diffs of the app's owner take, and may take. Those that are deleted soon are included.
    pub async fn diff_budget(&self, tx: &mut ReadTx, app: &AppId) -> Result<DiffBudget> {
        let stored: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES_OF_OWNER).bind(app).fetch_one(conn).await)?;
        let used: i64 = on!(tx, |conn| sqlx::query_scalar(DIFF_BYTES_OF_OWNER).bind(app).fetch_one(conn).await)?;
        Ok(DiffBudget { used: u64::try_from(used).unwrap_or_default(), bytes: self.diff_bytes(stored) })
    }

    /// Whether the diffs of an app that count for `from` fit into the budget of `to`, which has the app's bundles already.
    pub async fn has_room_for_diffs(&self, tx: &mut ReadTx, app: &AppId, from: &AccountId, to: &AccountId) -> Result<bool> {
        let moved: i64 = on!(tx, |conn| sqlx::query_scalar(DIFF_BYTES_OF_APP).bind(app).bind(from).fetch_one(conn).await)?;
        let stored: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES).bind(to).fetch_one(conn).await)?;
        let used: i64 = on!(tx, |conn| sqlx::query_scalar(DIFF_BYTES).bind(to).fetch_one(conn).await)?;
        Ok(moved == 0 || u64::try_from(used.saturating_add(moved)).unwrap_or_default() <= self.diff_bytes(stored))
    }

    /// How many bytes of diffs an account with so many bytes of bundles may have: as many, but some if it has few, and never more than bundles may have.
    pub fn diff_bytes(&self, stored: i64) -> u64 {
        u64::try_from(stored).unwrap_or_default().max(MIN_DIFF_BYTES).min(self.stored_bytes)
    }

    fn check_bytes(&self, bytes: i64) -> Result<()> {
        let is_within = u64::try_from(bytes).unwrap_or(0) <= self.stored_bytes;
        if is_within { Ok(()) } else { Err(Error::Quota(Quota::StoredBytes(self.stored_bytes))) }
    }
}

/// The bytes of an account's diffs. Each is checked before it is made, without a lock: two processes can exceed the budget by a diff each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffBudget {
    /// Those that there are.
    pub used: u64,
    /// How many there may be.
    pub bytes: u64,
}

impl DiffBudget {
    /// How many more there may be.
    pub fn left(self) -> u64 {
        self.bytes.saturating_sub(self.used)
    }

    /// Whether more than half of it is used, so that diffs that nobody is offered should not stay.
    pub fn is_short(self) -> bool {
        self.used > self.bytes / 2
    }
}

/// The size of the largest diff of the app that was dropped and not deleted yet, in bytes; 0 if there is none. It still counts for the app's owner, so making it again
/// needs no room.
pub async fn largest_dropped_diff(tx: &mut ReadTx, app: &AppId) -> Result<u64> {
    let size: i64 = on!(tx, |conn| sqlx::query_scalar(LARGEST_DROPPED_DIFF).bind(app).fetch_one(conn).await)?;
    Ok(u64::try_from(size).unwrap_or_default())
}

/// Counts a rename by the account `by`, or refuses it if the daily limit is used up. Errors: 409.
pub async fn acquire_rename(app: &Context, tx: &mut WriteTx, by: &AccountId, actor: &Actor) -> Result<()> {
    let acquired = limits::acquire(tx, Limit::Renames, &Subject::account(by), RENAMES_A_DAY, app.now()).await?;
    acquired.map_err(|_| refused(app, Limit::Renames, by, actor, Quota::RenamesADay(RENAMES_A_DAY.count)))
}

/// Checks that the app `of`, whose row is locked, may have one more deployment. Counts it against the daily limit of the account `by`, no matter who owns
/// the app. A deployment that reuses a kept key leaves fewer of those, so the limit on kept keys does not apply. Errors: 409.
pub async fn acquire_deployment(
    app: &Context,
    tx: &mut WriteTx,
    of: &AppId,
    (owner, by): (&AccountId, &AccountId),
    reuses_key: bool,
    actor: &Actor,
) -> Result<()> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(DEPLOYMENTS).bind(of).fetch_one(conn).await)?;
    check(count, app.settings.limits.quotas.deployments, Quota::Deployments)?;
    if !reuses_key {
        check_kept_keys(tx, owner, 1).await?;
    }
    // Nothing is locked after this count, so it cannot deadlock.
    let acquired = limits::acquire(tx, Limit::Deployments, &Subject::account(by), DEPLOYMENTS_A_DAY, app.now()).await?;
    acquired.map_err(|_| refused(app, Limit::Deployments, by, actor, Quota::DeploymentsADay(DEPLOYMENTS_A_DAY.count)))
}

/// Checks that the account may keep `more` keys of deleted deployments.
async fn check_kept_keys(tx: &mut ReadTx, owner: &AccountId, more: i64) -> Result<()> {
    let kept: i64 = on!(tx, |conn| sqlx::query_scalar(KEPT_KEYS).bind(owner).fetch_one(conn).await)?;
    if kept.saturating_add(more) <= MAX_KEPT_KEYS { Ok(()) } else { Err(Error::Quota(Quota::KeptKeys(MAX_KEPT_KEYS))) }
}

/// The refusal by a daily limit. It is logged like that of every rate limit.
fn refused(app: &Context, limit: Limit, owner: &AccountId, actor: &Actor, quota: Quota) -> Error {
    if let Some(from) = actor.address() {
        traces::refused(app, ClientAddress(from), limit.as_str(), Some(owner));
    }
    Error::Quota(quota)
}

fn check(count: i64, max: u32, quota: fn(u32) -> Quota) -> Result<()> {
    if count < i64::from(max) { Ok(()) } else { Err(Error::Quota(quota(max))) }
}

/// What an account uses of its quotas.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Apps owned.
    pub apps: i64,
    /// Named access keys.
    pub access_keys: i64,
    /// Bytes of bundles.
    pub stored_bytes: i64,
    /// Bytes of diffs.
    pub diff_bytes: i64,
    /// Deployments created in the last 24 hours, and how many may be.
    pub deployments_today: (u32, u32),
    /// Apps renamed in the last 24 hours, and how many may be.
    pub renames_today: (u32, u32),
    /// Keys of deleted deployments, and how many are kept.
    pub kept_keys: (i64, i64),
    /// The apps that use the most, by stored bytes: at most [`MAX_LISTED`].
    pub by_app: Vec<AppUsage>,
}

/// What an app uses of its owner's quotas.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AppUsage {
    /// Its bare name.
    pub name: String,
    /// Its deployments.
    pub deployments: i64,
    /// Its collaborators, including the owner.
    pub collaborators: i64,
    /// Bytes of its bundles.
    pub stored_bytes: i64,
}

/// The bytes of bundles that count against the account's storage quota.
pub async fn stored_bytes(tx: &mut ReadTx, account: &AccountId) -> Result<u64> {
    let bytes: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES).bind(account).fetch_one(conn).await)?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// What the account uses at `now`.
pub async fn usage(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> Result<Usage> {
    let count = async |tx: &mut ReadTx, statement: &'static str| -> Result<i64> {
        Ok(on!(tx, |conn| sqlx::query_scalar(statement).bind(account).fetch_one(conn).await)?)
    };
    let today = async |tx: &mut ReadTx, limit: Limit, rate: Rate| -> Result<(u32, u32)> {
        Ok((limits::find(tx, limit, &Subject::account(account)).await?.within(rate, now), rate.count))
    };
    Ok(Usage {
        apps: count(tx, APPS).await?,
        access_keys: count(tx, ACCESS_KEYS).await?,
        stored_bytes: count(tx, STORED_BYTES).await?,
        diff_bytes: count(tx, DIFF_BYTES).await?,
        deployments_today: today(tx, Limit::Deployments, DEPLOYMENTS_A_DAY).await?,
        renames_today: today(tx, Limit::Renames, RENAMES_A_DAY).await?,
        kept_keys: (count(tx, KEPT_KEYS).await?, MAX_KEPT_KEYS),
        by_app: on!(tx, |conn| sqlx::query_as(BY_APP).bind(account).bind(MAX_LISTED).fetch_all(conn).await)?,
    })
}
