//! Snapshots: what the edge (and the acquisition paths served here) answer from, made from the database's state.
//!
//! `repo` reads the history, `cache` keeps parsed snapshots, `versions` says which of them are still right, `outbox` notes what KV lacks, `publisher` pushes it through `kv`, `reconcile`
//! repairs what nobody noted. Not here: the snapshot's form and the selection, they are `shared`'s. Start reading at [`current`] and [`publisher`].

mod bulk;
mod cache;
pub mod kv;
pub mod outbox;
pub mod publisher;
pub mod reconcile;
pub mod repo;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;
use tokio::sync::Notify;

pub use cache::SnapshotCache;
pub use versions::Versions;

use crate::app::App;
use crate::db::ReadTx;
use crate::error::{AppError, AppResult};
use repo::KeyRow;

/// Wakes the publisher after a change; clones wake the same one.
#[derive(Clone, Debug)]
pub struct Publisher(Option<Arc<Notify>>);

impl Publisher {
    /// For a process without an edge: there is nobody to wake.
    pub fn off() -> Self {
        Self(None)
    }

    /// For a process whose publisher runs.
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    /// Says that something may be due. Call it after the commit; one that is forgotten costs a second.
    pub fn wake(&self) {
        if let Some(notify) = &self.0 {
            notify.notify_one();
        }
    }

    /// Waits to be woken, at most for `most`.
    async fn woken(&self, most: Duration) {
        match &self.0 {
            Some(notify) => drop(tokio::time::timeout(most, notify.notified()).await),
            None => tokio::time::sleep(most).await,
        }
    }
}

/// The parsed snapshot that answers for this key now, built from the database when its version changed. None: the key never was. A deleted
/// deployment's is a tombstone.
pub async fn current(app: &App, key: &DeploymentKey) -> AppResult<Option<Arc<Snapshot>>> {
    let Some(version) = app.versions.of(&app.db, key).await? else { return Ok(None) };
    if let Some(snapshot) = app.snapshots.get(key, version) {
        return Ok(Some(snapshot));
    }
    // Apart, so that the future of a check that needs none of it stays small: large ones are moved and allocated at a cost that shows.
    Box::pin(renew(app, key, version)).await
}

/// Builds the snapshot and keeps it, unless somebody else just did.
async fn renew(app: &App, key: &DeploymentKey, version: i64) -> AppResult<Option<Arc<Snapshot>>> {
    let _turn = app.snapshots.turn().await;
    if let Some(snapshot) = app.snapshots.get(key, version) {
        return Ok(Some(snapshot));
    }
    let mut tx = app.db.read().await?;
    let Some(row) = repo::find_key(&mut tx, key).await? else { return Ok(None) };
    // Another change while this waited for its turn: whoever had a turn since then built what all of them want now. Equal and not newer, as above: a
    // restored database counts its versions from where it was.
    if let Some(snapshot) = app.snapshots.get(key, row.snapshot_version) {
        return Ok(Some(snapshot));
    }
    let text = build(&mut tx, &row, app.now()).await?;
    drop(tx);
    let snapshot = Arc::new(Snapshot::parse(text.as_bytes()).map_err(AppError::internal)?);
    app.snapshots.put(key, &snapshot);
    Ok(Some(snapshot))
}

/// The KV value of this key, read in one consistent transaction: its version and the JSON text. None: the key never was.
pub async fn text(tx: &mut ReadTx, key: &DeploymentKey, now: UnixMillis) -> AppResult<Option<(i64, String)>> {
    let Some(row) = repo::find_key(tx, key).await? else { return Ok(None) };
    let text = build(tx, &row, now).await?;
    Ok(Some((row.snapshot_version, text)))
}

async fn build(tx: &mut ReadTx, row: &KeyRow, now: UnixMillis) -> AppResult<String> {
    let header = row.header(now);
    let Some(deployment) = row.deployment() else { return Ok(Snapshot::publish_tombstone(&header)) };
    Snapshot::publish(&header, &repo::history(tx, deployment).await?).map_err(AppError::internal)
}
