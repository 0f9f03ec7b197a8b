//! Diffs of an app that moves to another account: they must not take more than that account's diffs may.

use shared::ids::{AccountId, AppId};
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;

use super::repo;
use crate::domain::context::Context;
use crate::domain::deployments::snapshots;
use crate::domain::error::Result;
use crate::domain::releases::blob;
use crate::domain::releases::service::need_diffs;
use crate::infra::db::WriteTx;

/// Counts the app's diffs for its new owner, if that account's budget has room for them. Otherwise they are dropped: they count for `from` until they are deleted, and
/// the server makes again what there is room for. What `from` had no room for is tried again, too. The app's deployments must be locked, these must be their keys, and its bundles must be given to `to` already.
pub async fn settle(
    tx: &mut WriteTx,
    app: &Context,
    of: &AppId,
    keys: Vec<DeploymentKey>,
    (from, to): (&AccountId, &AccountId),
) -> Result<()> {
    let now = app.now();
    let is_wanting = repo::forget_no_room(tx, of).await? > 0;
    if app.settings.limits.quotas.has_room_for_diffs(tx, of, from, to).await? {
        blob::give_diffs(tx, of, from, to).await?;
        if is_wanting {
            raise_versions(tx, keys, now).await?;
            need_diffs(tx, of, now).await?;
        }
        return Ok(());
    }
    // Devices have URLs of them for a while. What an earlier owner kept is not used any longer than it was.
    blob::touch_diffs(tx, of, from, now).await?;
    repo::forget_made(tx, of).await?;
    repo::detach_all(tx, of).await?;
    raise_versions(tx, keys, now).await?;
    need_diffs(tx, of, now).await?;
    Ok(())
}

/// Raises the snapshots' versions: a turn that is about to end looks at the app once more.
async fn raise_versions(tx: &mut WriteTx, mut keys: Vec<DeploymentKey>, now: UnixMillis) -> Result<()> {
    keys.sort_unstable();
    for key in &keys {
        snapshots::enqueue(tx, key, now).await?;
    }
    Ok(())
}
