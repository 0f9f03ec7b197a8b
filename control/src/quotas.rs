//! How much one account may have (decisions section 9): what is counted, and the refusal that names the quota and its value.
//!
//! Apps, deployments, collaborators and bytes count for the app's owner. A quota that was lowered touches nothing that exists. Each function is called in
//! the transaction of the change, with the row held under which the counted rows are added, so that two at once cannot pass together.

use shared::ids::{AccountId, AppId};
use shared::limit::Rate;
use shared::time::UnixMillis;

use crate::db::{ReadTx, WriteTx};
use crate::error::{AppError, AppResult};
use crate::limits::{self, Limit, Subject};
use crate::on;

const APPS: &str = "SELECT COUNT(*) FROM apps WHERE owner_id = $1";
const DEPLOYMENTS: &str = "SELECT COUNT(*) FROM deployments WHERE app_id = $1";
const KEPT_KEYS: &str = "SELECT COUNT(*) FROM deployment_keys WHERE account_id = $1 AND deployment_id IS NULL";
// Without sessions and what CLIs hold: those have bounds of their own.
const ACCESS_KEYS: &str = "SELECT COUNT(*) FROM access_keys WHERE account_id = $1 AND NOT is_session AND credential_origin IS NULL";
const COLLABORATORS: &str = "SELECT COUNT(*) FROM collaborators WHERE app_id = $1";
const STORED_BYTES: &str =
    "SELECT CAST(COALESCE(SUM(b.size), 0) AS BIGINT) FROM blobs b JOIN apps a ON a.id = b.app_id WHERE a.owner_id = $1";
const BYTES_OF_APP: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blobs WHERE app_id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[APPS, DEPLOYMENTS, KEPT_KEYS, ACCESS_KEYS, COLLABORATORS, STORED_BYTES, BYTES_OF_APP];

/// Deployments that an account creates in a day: each leaves a key that is never given to anybody else.
const DEPLOYMENTS_A_DAY: Rate = Rate { count: 200, window: 86_400_000 };

/// New names that an account's apps get in a day: each is kept for every collaborator who has accepted the app.
const RENAMES_A_DAY: Rate = Rate { count: 200, window: 86_400_000 };

/// Keys of deleted deployments that are kept for an account.
const MAX_KEPT_KEYS: i64 = 2_000;

/// What an account may have; the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Apps that it owns.
    pub apps: u32,
    /// Deployments of one app.
    pub deployments: u32,
    /// Named access keys, expired ones too: they hold their names.
    pub access_keys: u32,
    /// Collaborators of one app, its owner included.
    pub collaborators: u32,
    /// Bytes that the bundles of its apps take.
    pub stored_bytes: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { apps: 200, deployments: 50, access_keys: 200, collaborators: 200, stored_bytes: 50 << 30 }
    }
}

impl Quotas {
    /// Refuses one more app of the account, whose row is held. Errors: 409.
    pub async fn check_apps(&self, tx: &mut ReadTx, owner: &AccountId) -> AppResult<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(APPS).bind(owner).fetch_one(conn).await)?;
        check(count, self.apps, "apps per account", "delete an app you no longer need")
    }

    /// Refuses an app of another account that is to be this one's, whose row is held. Errors: 409.
    pub async fn check_received(&self, tx: &mut ReadTx, app: &AppId, owner: &AccountId) -> AppResult<()> {
        self.check_apps(tx, owner).await?;
        let bytes: i64 = on!(tx, |conn| sqlx::query_scalar(BYTES_OF_APP).bind(app).fetch_one(conn).await)?;
        self.check_stored_bytes(tx, owner, u64::try_from(bytes).unwrap_or(0)).await
    }

    /// Refuses one new name too many that the account gives within a day; counts this one. Errors: 409.
    pub async fn admit_rename(&self, tx: &mut WriteTx, owner: &AccountId, now: UnixMillis) -> AppResult<()> {
        match limits::admit(tx, Limit::Renames, &Subject::account(owner), RENAMES_A_DAY, now).await? {
            Ok(()) => Ok(()),
            Err(_) => Err(reached("200 new names of apps per account and day", "try again tomorrow")),
        }
    }

    /// Refuses one more deployment of the app, whose row is held, and one too many of its owner's within a day; counts this one. Errors: 409.
    pub async fn admit_deployment(&self, tx: &mut WriteTx, app: &AppId, owner: &AccountId, now: UnixMillis) -> AppResult<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(DEPLOYMENTS).bind(app).fetch_one(conn).await)?;
        check(count, self.deployments, "deployments per app", "delete a deployment you no longer need")?;
        let kept: i64 = on!(tx, |conn| sqlx::query_scalar(KEPT_KEYS).bind(owner).fetch_one(conn).await)?;
        if kept >= MAX_KEPT_KEYS {
            return Err(reached("2000 keys of deleted deployments per account", "reuse one of them as the key of the new deployment"));
        }
        // Nothing is locked after this count, so that nobody waits in a circle.
        match limits::admit(tx, Limit::Deployments, &Subject::account(owner), DEPLOYMENTS_A_DAY, now).await? {
            Ok(()) => Ok(()),
            Err(_) => Err(reached("200 new deployments per account and day", "try again tomorrow")),
        }
    }

    /// Refuses one more named access key of the account, whose row is held. Errors: 409.
    pub async fn check_access_keys(&self, tx: &mut ReadTx, account: &AccountId) -> AppResult<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(ACCESS_KEYS).bind(account).fetch_one(conn).await)?;
        check(count, self.access_keys, "access keys per account", "delete a key you no longer need")
    }

    /// Refuses one more collaborator of the app, whose row is held. Errors: 409.
    pub async fn check_collaborators(&self, tx: &mut ReadTx, app: &AppId) -> AppResult<()> {
        let count: i64 = on!(tx, |conn| sqlx::query_scalar(COLLABORATORS).bind(app).fetch_one(conn).await)?;
        check(count, self.collaborators, "collaborators per app", "remove somebody first")
    }

    /// Refuses bundles that would make the owner's apps take more than its quota, with those that are stored already. Errors: 409.
    pub async fn check_stored_bytes(&self, tx: &mut ReadTx, owner: &AccountId, more: u64) -> AppResult<()> {
        let stored: i64 = on!(tx, |conn| sqlx::query_scalar(STORED_BYTES).bind(owner).fetch_one(conn).await)?;
        if u64::try_from(stored).unwrap_or(0).saturating_add(more) <= self.stored_bytes {
            return Ok(());
        }
        Err(reached(&format!("{} bytes of bundles per account", self.stored_bytes), "clear the history of deployments you no longer need"))
    }
}

fn check(count: i64, most: u32, what: &str, remedy: &str) -> AppResult<()> {
    if count < i64::from(most) { Ok(()) } else { Err(reached(&format!("{most} {what}"), remedy)) }
}

fn reached(quota: &str, remedy: &str) -> AppError {
    AppError::Conflict(format!("the quota of {quota} is reached: {remedy}, or ask your administrator for more"))
}
