//! Runs work to completion, even if the client that requested it disconnects.
//!
//! When a client disconnects, its handler is dropped at the next await point. Work that must not stop half-way runs here instead.

use std::future::Future;

use tokio_util::task::TaskTracker;

use super::error::Error;

/// A handle to the running work; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Work(TaskTracker);

impl Work {
    /// Runs `task` to completion, and returns its result if the caller still waits.
    pub async fn run<T, E>(&self, task: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Taken before the check, so that `finished` waits for this task too.
        let token = self.0.token();
        // No new work starts once the server is stopping.
        if self.0.is_closed() {
            return Err(Error::unavailable("the server is stopping").into());
        }
        let task = tokio::spawn(async move {
            let result = task.await;
            drop(token);
            result
        });
        task.await.map_err(Error::internal)?
    }

    /// Waits for all running work. From then on, no new work starts.
    pub async fn finished(&self) {
        self.0.close();
        self.0.wait().await;
    }
}
