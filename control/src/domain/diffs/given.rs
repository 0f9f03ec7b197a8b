//! Diffs of an app that moves to another account: they must not take more than that account's diffs may.

use shared::ids::{AccountId, AppId};
use shared::keys::DeploymentKey;

use super::repo;
use crate::domain::context::Context;
use crate::domain::deployments::snapshots;
use crate::domain::error::Result;
use crate::domain::releases::blob;
use crate::domain::releases::service::need_diffs;
use crate::infra::db::WriteTx;

/// Drops the app's diffs if, with them, those of its new owner take more than they may. They then count for `from` until they are deleted, and the server makes
/// again what there is room for. Returns whether it did. The app's deployments must be locked, these must be their keys, and its blobs must be given to `to` already.
pub async fn settle(
    tx: &mut WriteTx,
    app: &Context,
    of: &AppId,
    mut keys: Vec<DeploymentKey>,
    (from, to): (&AccountId, &AccountId),
) -> Result<bool> {
    let now = app.now();
    if !app.settings.limits.quotas.diff_budget_of(tx, to).await?.is_exceeded() || repo::forget_made(tx, of).await? == 0 {
        return Ok(false);
    }
    blob::give_diffs(tx, of, from).await?;
    // Devices have URLs of them for a while.
    blob::touch_all(tx, of, now).await?;
    repo::detach_all(tx, of).await?;
    keys.sort_unstable();
    for key in &keys {
        snapshots::enqueue(tx, key, now).await?;
    }
    need_diffs(tx, of, now).await?;
    Ok(true)
}
