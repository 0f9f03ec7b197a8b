//! Work that runs to its end once it has begun, whether or not the client that asked for it still waits.
//!
//! A handler is dropped where it stands when its client goes away. What must not stop half-way runs here instead.

use std::future::Future;

use tokio_util::task::TaskTracker;

use super::error::Error;

/// A handle to the work under way; clones are of the same.
#[derive(Clone, Debug, Default)]
pub struct Work(TaskTracker);

impl Work {
    /// Runs `task` to its end, and gives what it gave to whoever still waits.
    pub async fn run<T, E>(&self, task: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Counted before the look, so that whoever waits for the end of all work waits for this, too.
        let token = self.0.token();
        // Nothing is begun once the server is stopping.
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

    /// Waits for all work under way; from then on none is begun.
    pub async fn finished(&self) {
        self.0.close();
        self.0.wait().await;
    }
}
