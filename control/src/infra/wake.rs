//! Wakes up a job early.

use std::sync::Arc;

use tokio::sync::Notify;

/// A handle that wakes up one job; clones wake the same job.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Notify>);

impl Wake {
    /// Signals that work may be due. Call it after the commit; a missed call delays the work by up to a second.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits for a signal.
    pub(crate) async fn woken(&self) {
        self.0.notified().await;
    }
}
