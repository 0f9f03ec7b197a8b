//! Notices the first update check of a deployment, for the page that leads to a first release.
//!
//! Checks are answered from memory and write nothing. So a check is noted only while somebody waits for it: the page asks for it every few seconds, in
//! every process that answers it. Start reading at [`AwaitedChecks`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use shared::ids::AccountId;
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

/// The most waits at once. Each is of one account for one deployment.
const MAX_WAITS: usize = 1_000;

/// The most waits of one account at once.
const MAX_WAITS_OF_ACCOUNT: usize = 20;

/// The deployments whose first check somebody waits for.
#[derive(Debug, Default)]
pub struct AwaitedChecks {
    /// Whether there are any: every check looks here.
    are_any: AtomicBool,
    /// By account and key, when a page last asked. No account is without a key.
    waits: Mutex<HashMap<AccountId, HashMap<DeploymentKey, UnixMillis>>>,
}

impl AwaitedChecks {
    /// Waits for the deployment's first check for another minute. An account that waits for too many gives up the one that it asked for first. If there are
    /// too many waits in all, so does the account that has the most, which may be this one.
    pub fn wait_for(&self, account: &AccountId, key: &DeploymentKey, now: UnixMillis) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut waits, now);
        waits.entry(account.clone()).or_default().insert(key.clone(), now);
        if waits.get(account).is_some_and(|keys| keys.len() > MAX_WAITS_OF_ACCOUNT) {
            give_up_oldest(&mut waits, account, key);
        }
        if waits.values().map(HashMap::len).sum::<usize>() > MAX_WAITS
            && let Some(largest) = waits.iter().max_by_key(|(_, keys)| keys.len()).map(|(account, _)| account.clone())
        {
            give_up_oldest(&mut waits, &largest, key);
        }
        self.are_any.store(true, Ordering::Relaxed);
    }

    /// Whether somebody waited for this check. Nobody does afterwards.
    pub fn take(&self, key: &DeploymentKey, now: UnixMillis) -> bool {
        // Almost always false, and then nothing is locked.
        if !self.are_any.load(Ordering::Relaxed) {
            return false;
        }
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        // Pages that were closed do not make every check come here.
        forget_old(&mut waits, now);
        let mut is_awaited = false;
        waits.retain(|_, keys| {
            is_awaited |= keys.remove(key).is_some();
            !keys.is_empty()
        });
        if waits.is_empty() {
            self.are_any.store(false, Ordering::Relaxed);
        }
        is_awaited
    }
}

fn forget_old(waits: &mut HashMap<AccountId, HashMap<DeploymentKey, UnixMillis>>, now: UnixMillis) {
    waits.retain(|_, keys| {
        keys.retain(|_, asked| now.0.abs_diff(asked.0) < PATIENCE.unsigned_abs());
        !keys.is_empty()
    });
}

/// Drops the account's wait that it asked for first, rather than that for `newest`.
fn give_up_oldest(waits: &mut HashMap<AccountId, HashMap<DeploymentKey, UnixMillis>>, account: &AccountId, newest: &DeploymentKey) {
    let Some(keys) = waits.get_mut(account) else { return };
    if let Some(oldest) = keys.iter().min_by_key(|(key, asked)| (*key == newest, asked.0)).map(|(key, _)| key.clone()) {
        keys.remove(&oldest);
    }
    if keys.is_empty() {
        waits.remove(account);
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

    fn account(number: u8) -> AccountId {
        AccountId::v7(UnixMillis(0), [number; 10])
    }

    fn key(number: usize) -> DeploymentKey {
        DeploymentKey::try_from(format!("deployment-key-{number}")).unwrap()
    }

    #[test]
    fn a_check_is_noticed_only_while_somebody_waits_for_it() {
        let (awaited, account) = (AwaitedChecks::default(), account(1));
        assert!(!awaited.take(&key(1), UnixMillis(0)));
        awaited.wait_for(&account, &key(1), UnixMillis(0));
        assert!(!awaited.take(&key(2), UnixMillis(0)));
        assert!(awaited.take(&key(1), UnixMillis(0)));
        assert!(!awaited.take(&key(1), UnixMillis(0)), "only the first");
        awaited.wait_for(&account, &key(1), UnixMillis(0));
        awaited.wait_for(&account, &key(2), UnixMillis(1));
        assert!(!awaited.take(&key(1), UnixMillis(PATIENCE)), "the page was closed a minute ago");
        assert!(awaited.take(&key(2), UnixMillis(PATIENCE)));
        assert!(!awaited.are_any.load(Ordering::Relaxed));
    }

    #[test]
    fn an_account_gives_up_its_own_oldest_wait() {
        let awaited = AwaitedChecks::default();
        for number in (0_u32..).take(MAX_WAITS_OF_ACCOUNT + 1) {
            awaited.wait_for(&account(1), &key(number as usize), UnixMillis(number.into()));
        }
        // Another account waits for a deployment that the first one gave up, and for one that it did not.
        awaited.wait_for(&account(2), &key(1), UnixMillis(30));
        assert!(!awaited.take(&key(0), UnixMillis(30)));
        assert!(awaited.take(&key(MAX_WAITS_OF_ACCOUNT), UnixMillis(30)));
        assert!(awaited.take(&key(1), UnixMillis(30)));
        assert!(!awaited.take(&key(1), UnixMillis(30)), "for nobody anymore");
    }

    #[test]
    fn accounts_with_many_waits_give_way_to_those_with_few() {
        let awaited = AwaitedChecks::default();
        let full = (0_u8..).take(MAX_WAITS / MAX_WAITS_OF_ACCOUNT);
        for (number, account) in full.clone().flat_map(|of| std::iter::repeat_n(account(of), MAX_WAITS_OF_ACCOUNT)).enumerate() {
            awaited.wait_for(&account, &key(number), UnixMillis(0));
        }
        awaited.wait_for(&account(200), &key(MAX_WAITS), UnixMillis(0));
        let waits = awaited.waits.lock().unwrap().values().map(HashMap::len).sum::<usize>();
        assert_eq!(waits, MAX_WAITS);
        assert!(awaited.take(&key(MAX_WAITS), UnixMillis(0)));
    }
}
