//! Work that runs to its end once it has begun, whether or not the client that asked for it still waits.
//!
//! A handler is dropped where it stands when its client goes away. What must not stop half-way runs here instead.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::RwLock;

use super::error::Error;

/// A handle to the work under way; clones are of the same. Each piece of work holds the lock for reading.
#[derive(Clone, Debug, Default)]
pub struct Work(Arc<RwLock<()>>);

impl Work {
    /// Runs `task` to its end, and gives what it gave to whoever still waits.
    pub async fn run<T, E>(&self, task: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // Nothing is begun once the server is stopping.
        let under_way = Arc::clone(&self.0).try_read_owned().map_err(Error::unavailable)?;
        let task = tokio::spawn(async move {
            let result = task.await;
            drop(under_way);
            result
        });
        task.await.map_err(Error::internal)?
    }

    /// Waits for all work under way; from then on none is begun.
    pub async fn finished(&self) {
        std::mem::forget(Arc::clone(&self.0).write_owned().await);
    }
}
