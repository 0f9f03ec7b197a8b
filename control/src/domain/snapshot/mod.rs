//! Snapshots: what the edge, and the devices' paths served here, answer from; made from the database's state.
//!
//! `repo` reads the history, `builds` makes each version once, `turns` says whose turn that is, `cache` keeps it, `versions` says which of them are still
//! right, `size` bounds what one deployment may cost, `outbox` notes what KV lacks. Pushing them is [`crate::jobs::snapshots`]', repairing what nobody
//! noted [`crate::jobs::reconcile`]'s; the snapshot's form and the selection are `shared`'s. Start reading at [`current`].

mod builds;
mod cache;
pub mod outbox;
pub mod repo;
pub mod size;
mod turns;
mod versions;

pub use builds::{Answer, Fault, Form, Snapshots, Source, Worker};
pub use cache::Built;
pub use turns::Turn;
pub use versions::Versions;

use std::sync::Arc;

use bytes::Bytes;
use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;
use tokio::sync::Notify;

use crate::domain::context::Context;
use crate::domain::error::AppResult;

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

    /// Whether there is an edge.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Says that something may be due. Call it after the commit; one that is forgotten costs a second.
    pub fn wake(&self) {
        if let Some(notify) = &self.0 {
            notify.notify_one();
        }
    }

    /// Waits to be woken.
    pub(crate) async fn woken(&self) {
        match &self.0 {
            Some(notify) => notify.notified().await,
            None => std::future::pending().await,
        }
    }
}

/// The parsed snapshot that answers for this key now, built from the database when its version changed. None: the key never was. A deleted
/// deployment's is a tombstone.
pub async fn current(app: &Context, key: &DeploymentKey) -> AppResult<Option<Arc<Snapshot>>> {
    let Some(version) = app.versions.of(&app.db, key).await? else { return Ok(None) };
    if let Some(snapshot) = app.snapshots.parsed(key, version) {
        return Ok(Some(snapshot));
    }
    // Apart, so that the future of a check that needs none of it stays small: large ones are moved and allocated at a cost that shows.
    let built = Box::pin(app.snapshots.get(app, key, version, Form::Parsed)).await?;
    Ok(built.and_then(|built| built.snapshot))
}

/// The KV value of this key now: its version and the JSON text, both of one moment. None: the key never was.
pub async fn text(app: &Context, key: &DeploymentKey) -> AppResult<Option<(i64, Bytes)>> {
    let Some(version) = app.versions.of(&app.db, key).await? else { return Ok(None) };
    let built = app.snapshots.get(app, key, version, Form::Text).await?;
    Ok(built.map(|built| (built.version, built.text)))
}
