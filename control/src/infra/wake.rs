//! Wakes a job early.

use std::sync::Arc;

use tokio::sync::Notify;

/// Clones wake the same job.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Notify>);

impl Wake {
    /// Says that something may be due. Call it after the commit; one that is forgotten costs a second.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits to be woken.
    pub(crate) async fn woken(&self) {
        self.0.notified().await;
    }
}
