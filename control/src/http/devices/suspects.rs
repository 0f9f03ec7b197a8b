//! Stored objects that a download found missing or altered. Of a diff, somebody looks; a download does not wait for that.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::hash::BlobKey;

use crate::domain::diffs::lost;
use crate::domain::error::chain;
use crate::http::AppState;

/// Objects that are looked at in one moment: each is read once more. The next download of another one says it again.
const MOST: usize = 4;

/// The objects that are being looked at.
#[derive(Debug, Default)]
pub struct Suspects(Mutex<HashSet<BlobKey>>);

impl Suspects {
    /// Whether the caller is the one to look.
    fn enter(&self, key: &BlobKey) -> bool {
        let mut keys = self.keys();
        keys.len() < MOST && keys.insert(key.clone())
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<BlobKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the diff with this key dropped if its object is missing or altered, in the background.
pub(super) fn look(app: &AppState, key: &BlobKey) {
    if !app.front.suspects.enter(key) {
        return;
    }
    let (app, key) = (app.clone(), key.clone());
    tokio::spawn(async move {
        let (state, suspect) = (app.clone(), key.clone());
        if let Err(error) = app.work.run(async move { lost::check(&state, &suspect).await }).await {
            tracing::warn!(app.id = %key.app, sha256 = %key.sha256, cause = chain(&error), "an object that may be lost could not be read");
        }
        app.front.suspects.keys().remove(&key);
    });
}
