//! Work on packages that may fail again and again, or even end the process: it must not keep the app's other releases from their diffs.

use std::time::Duration;

use shared::ids::AppId;
use tokio::time::timeout;

use super::Problem;
use super::repo::{self, MadeRow, ReleaseRow, Target};
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, chain};
use crate::domain::outbox::{self, Lease};

/// How long work on one package may take.
const READING: Duration = Duration::from_mins(10);
/// After so many failures of an app with nothing done in between, what is tried next is on trial.
const PATIENCE: i64 = 4;

/// The work on the diffs of one release. On trial, a package counts as one that ends the process until the work on it has ended: if it never does, this is what
/// stays recorded. A failure of work on trial is recorded, too, if the storage is there.
#[derive(Debug)]
pub(super) struct Trial<'w> {
    pub app: &'w Context,
    pub of: &'w AppId,
    pub target: Target<'w>,
    pub lease: &'w Lease,
    /// Failures since something was done, processes that ended included.
    pub attempts: i64,
    /// Whether such work has ended the process before.
    pub is_suspect: bool,
}

impl Trial<'_> {
    /// Does some work for the diffs from these packages. `problem` is what a failure on trial means. Errors: those that may pass.
    pub(super) async fn run<T>(
        &self,
        bases: &[ReleaseRow],
        problem: Problem,
        work: impl Future<Output = Result<std::result::Result<T, Problem>>>,
    ) -> Result<std::result::Result<T, Problem>> {
        // A storage may send a byte now and then.
        let work = async {
            timeout(READING, work).await.unwrap_or_else(|_| Err(Error::unavailable("work on a package for a diff took too long")))
        };
        if self.attempts < PATIENCE && !self.is_suspect {
            return work.await;
        }
        let mut tx = self.app.db.write().await?;
        for base in bases {
            repo::record(&mut tx, self.of, self.target, &failed(base, Problem::Unfinished, self.app)).await?;
        }
        tx.commit().await?;
        let done = match work.await {
            Err(error) if self.app.storage.probe().await.is_ok() => {
                tracing::warn!(cause = chain(&error), problem = problem.as_str(), "a package for a diff cannot be read");
                Ok(Err(problem))
            }
            done => done,
        };
        let mut tx = self.app.db.write().await?;
        for base in bases {
            repo::forget(&mut tx, self.of, self.target, &base.blob_sha256).await?;
        }
        tx.commit().await?;
        done
    }

    /// Records what became of a diff.
    pub(super) async fn record(&mut self, row: &MadeRow) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        repo::record(&mut tx, self.of, self.target, row).await?;
        if self.attempts > 0 {
            outbox::forgive(&mut tx, self.lease).await?;
        }
        tx.commit().await?;
        self.attempts = 0;
        Ok(())
    }
}

/// The row of a diff that cannot be made.
pub(super) fn failed(base: &ReleaseRow, problem: Problem, app: &Context) -> MadeRow {
    MadeRow { base_sha256: base.blob_sha256.clone(), blob_sha256: None, size: 0, problem: Some(problem), made_time: app.now() }
}
