//! Notices the first update check of a deployment, for the page that leads to a first release.
//!
//! Checks are answered from memory and write nothing. So a check is noted only while somebody waits for it: the page asks for it every few seconds, in
//! every process that answers it. Start reading at [`AwaitedChecks`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use crate::infra::db::{Db, ReadTx};
use crate::{on, on_write};

const NOTE: &str = "UPDATE deployments SET first_check_time = $2 WHERE deployment_key = $1 AND first_check_time IS NULL";
const IS_NOTED: &str = "SELECT COUNT(*) FROM deployments WHERE deployment_key = $1 AND first_check_time IS NOT NULL";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[NOTE, IS_NOTED];

/// How long a page waits after it last asked, in milliseconds.
const PATIENCE: i64 = 60_000;

/// The most deployments that are waited for at once.
const MAX_AWAITED: usize = 1_000;

/// The deployments whose first check somebody waits for, by key.
#[derive(Debug, Default)]
pub struct AwaitedChecks {
    /// Whether there are any: every check looks here.
    are_any: AtomicBool,
    /// When a page last asked.
    keys: Mutex<HashMap<DeploymentKey, UnixMillis>>,
}

impl AwaitedChecks {
    /// Waits for the deployment's first check for another minute. Beyond a thousand deployments, the others are waited for first.
    pub fn wait_for(&self, key: &DeploymentKey, now: UnixMillis) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, asked| now.0.abs_diff(asked.0) < PATIENCE.unsigned_abs());
        if keys.len() < MAX_AWAITED || keys.contains_key(key) {
            keys.insert(key.clone(), now);
        }
        self.are_any.store(true, Ordering::Relaxed);
    }

    /// Whether somebody waited for this check. Nobody does afterwards.
    pub fn take(&self, key: &DeploymentKey, now: UnixMillis) -> bool {
        // Almost always false, and then nothing is locked.
        if !self.are_any.load(Ordering::Relaxed) {
            return false;
        }
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Pages that were closed do not make every check come here.
        keys.retain(|_, asked| now.0.abs_diff(asked.0) < PATIENCE.unsigned_abs());
        let is_awaited = keys.remove(key).is_some();
        if keys.is_empty() {
            self.are_any.store(false, Ordering::Relaxed);
        }
        is_awaited
    }
}

/// Notes the deployment's first check.
pub async fn note(db: &Db, key: &DeploymentKey, now: UnixMillis) -> sqlx::Result<()> {
    let mut tx = db.write().await?;
    on_write!(tx, |conn| sqlx::query(NOTE).bind(key).bind(now).execute(conn).await)?;
    tx.commit().await
}

/// Whether it was noted.
pub async fn is_noted(tx: &mut ReadTx, key: &DeploymentKey) -> sqlx::Result<bool> {
    let noted: i64 = on!(tx, |conn| sqlx::query_scalar(IS_NOTED).bind(key).fetch_one(conn).await)?;
    Ok(noted > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_noticed_only_while_somebody_waits_for_it() {
        let awaited = AwaitedChecks::default();
        let [key, other] = ["first-key-of-two", "other-key-of-two"].map(|text| DeploymentKey::try_from(text.to_owned()).unwrap());
        assert!(!awaited.take(&key, UnixMillis(0)));
        awaited.wait_for(&key, UnixMillis(0));
        assert!(!awaited.take(&other, UnixMillis(0)));
        assert!(awaited.take(&key, UnixMillis(0)));
        assert!(!awaited.take(&key, UnixMillis(0)), "only the first");
        awaited.wait_for(&key, UnixMillis(0));
        awaited.wait_for(&other, UnixMillis(1));
        assert!(!awaited.take(&key, UnixMillis(PATIENCE)), "the page was closed a minute ago");
        assert!(awaited.take(&other, UnixMillis(PATIENCE)));
    }

    #[test]
    fn what_is_waited_for_is_bounded() {
        let awaited = AwaitedChecks::default();
        let key = |number: usize| DeploymentKey::try_from(format!("deployment-key-{number}")).unwrap();
        for number in 0..=MAX_AWAITED {
            awaited.wait_for(&key(number), UnixMillis(0));
        }
        assert!(!awaited.take(&key(MAX_AWAITED), UnixMillis(0)));
        assert!(awaited.take(&key(0), UnixMillis(0)));
    }
}
