//! Work on packages that may fail again and again, or even end the process: it must not keep the app's other releases from their diffs.

use std::time::Duration;

use shared::ids::AppId;
use shared::time::UnixMillis;
use tokio::time::timeout;

use super::Problem;
use super::repo::{self, MadeRow, ReleaseRow, Target};
use crate::domain::access;
use crate::domain::context::Context;
use crate::domain::error::{Cause, Error, Result, chain};
use crate::domain::outbox::{self, Lease};
use crate::infra::db::WriteTx;

/// How long reading a package may take: a storage may send a byte now and then.
const READING: Duration = Duration::from_mins(10);
/// How long work on one package may take.
const WORKING: Duration = Duration::from_mins(20);
/// After so many failures of an app with nothing done in between, what is tried next is on trial.
const PATIENCE: i64 = 4;

/// Why work on a package failed. All may pass.
#[derive(Debug)]
pub(super) enum Failure {
    /// The package could not be read: if that stays so, it is damaged.
    Reading(Error),
    /// The work took too long.
    Late(Error),
    /// Anything else, such as a full disk or a storage that takes no diff. It says nothing about the package.
    Other(Error),
}

impl Failure {
    /// A failure to read a package.
    pub(super) fn reading(cause: impl Into<Cause>) -> Self {
        Self::Reading(Error::unavailable(cause))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Other(error.into())
    }
}

/// What work on a package gives: a value, a problem of the package, or a failure.
pub(super) type Worked<T> = std::result::Result<std::result::Result<T, Problem>, Failure>;

/// Reads from the storage, for a while at most.
pub(super) async fn in_time<T>(reading: impl Future<Output = Worked<T>>) -> Worked<T> {
    timeout(READING, reading).await.unwrap_or_else(|_| Err(Failure::reading("work on a package for a diff took too long")))
}

/// An app that this process works on.
#[derive(Debug)]
pub struct Claim {
    /// Its lease.
    pub lease: Lease,
    /// Since when. What is on trial is recorded with this time.
    pub began: UnixMillis,
}

impl Claim {
    /// Counts a failure of the work: it is tried again at `next`. What is on trial did not end the process, so it is forgotten. Nothing is changed if the lease was
    /// lost.
    pub async fn retry_later(&self, app: &Context, next: UnixMillis) -> Result<()> {
        let mut tx = self.forgetting(app).await?;
        if outbox::retry_later(&mut tx, &self.lease, next, UnixMillis(0)).await? {
            tx.commit().await?;
        }
        Ok(())
    }

    /// Leaves the work to the next process, without counting a failure. What is on trial is forgotten. Nothing is changed if the lease was lost.
    pub async fn release(&self, app: &Context) -> Result<()> {
        let mut tx = self.forgetting(app).await?;
        if outbox::release(&mut tx, &self.lease).await? {
            tx.commit().await?;
        }
        Ok(())
    }

    /// A transaction that forgets what is on trial.
    async fn forgetting(&self, app: &Context) -> Result<WriteTx> {
        let mut tx = app.db.write().await?;
        // Work on what is no app fails before anything is on trial.
        if let Ok(of) = self.app() {
            // First, like everything else that changes several of these rows.
            access::apps::lock(&mut tx, &of).await?;
            repo::forget_unfinished(&mut tx, &of, self.began).await?;
        }
        Ok(tx)
    }

    /// The app.
    pub(super) fn app(&self) -> Result<AppId> {
        AppId::try_from(self.lease.key.as_str()).map_err(Error::internal)
    }
}

/// The work on the diffs of one release. On trial, a package counts as one that ends the process until the work on it has ended: if it never does, this is what
/// stays recorded. If the package cannot be read twice on trial, or the work takes too long, that is recorded, too, if the storage is there. Another failure never
/// is.
#[derive(Debug)]
pub(super) struct Trial<'w> {
    pub app: &'w Context,
    pub of: &'w AppId,
    pub target: Target<'w>,
    pub claim: &'w Claim,
    /// Failures since something was done, processes that ended included.
    pub attempts: i64,
    /// Whether such work has ended the process before.
    pub is_suspect: bool,
}

impl Trial<'_> {
    /// Does some work for the diffs from these packages. `problem` is what a package has that cannot be read on trial. Errors: those that may pass.
    pub(super) async fn run<T, W: Future<Output = Worked<T>>>(
        &self,
        bases: &[ReleaseRow],
        problem: Problem,
        work: impl Fn() -> W,
    ) -> Result<std::result::Result<T, Problem>> {
        if !self.is_on() {
            return bounded(work()).await.map_err(Error::from);
        }
        let mut tx = self.app.db.write().await?;
        // First, like everything else that changes several of these rows.
        access::apps::lock(&mut tx, self.of).await?;
        let before = repo::made(&mut tx, self.of, self.target).await?;
        for base in bases {
            let row = MadeRow { made_time: self.claim.began, ..failed(base, Problem::Unfinished, self.app) };
            repo::record(&mut tx, self.of, self.target, &row).await?;
        }
        tx.commit().await?;
        let done = self.judge(problem, work).await;
        let mut tx = self.app.db.write().await?;
        access::apps::lock(&mut tx, self.of).await?;
        for base in bases {
            repo::forget(&mut tx, self.of, self.target, &base.blob_sha256).await?;
            // A diff that is looked at again is there as before, unless no release has it: it may have been dropped meanwhile.
            if let Some(row) = before.iter().find(|row| row.base_sha256 == base.blob_sha256)
                && let Some(blob) = &row.blob_sha256
                && !repo::deployments_with(&mut tx, self.of, blob).await?.is_empty()
            {
                repo::record(&mut tx, self.of, self.target, row).await?;
            }
        }
        tx.commit().await?;
        done
    }

    /// Works, once more if a package cannot be read, and says what a failure means.
    async fn judge<T, W: Future<Output = Worked<T>>>(
        &self,
        problem: Problem,
        work: impl Fn() -> W,
    ) -> Result<std::result::Result<T, Problem>> {
        let mut done = bounded(work()).await;
        if let Err(Failure::Reading(error)) = done {
            if !self.is_storage_there().await {
                return Err(error);
            }
            // The app's earlier failures may have had other causes.
            done = bounded(work()).await;
        }
        let (error, problem) = match done {
            Err(Failure::Reading(error)) => (error, problem),
            Err(Failure::Late(error)) => (error, Problem::Unfinished),
            done => return done.map_err(Error::from),
        };
        if !self.is_storage_there().await {
            return Err(error);
        }
        tracing::warn!(cause = chain(&error), problem = problem.as_str(), "a package is recorded as the cause of failures");
        Ok(Err(problem))
    }

    async fn is_storage_there(&self) -> bool {
        self.app.storage.probe().await.is_ok()
    }

    /// Whether what is done now is on trial.
    pub(super) fn is_on(&self) -> bool {
        self.attempts >= PATIENCE || self.is_suspect
    }

    /// Records what became of a diff.
    pub(super) async fn record(&mut self, row: &MadeRow) -> Result<()> {
        let mut tx = self.app.db.write().await?;
        repo::record(&mut tx, self.of, self.target, row).await?;
        if self.attempts > 0 {
            outbox::forgive(&mut tx, &self.claim.lease).await?;
        }
        tx.commit().await?;
        self.attempts = 0;
        Ok(())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Reading(error) | Failure::Late(error) | Failure::Other(error) => error,
        }
    }
}

/// Works for a while at most.
async fn bounded<T>(work: impl Future<Output = Worked<T>>) -> Worked<T> {
    timeout(WORKING, work).await.unwrap_or_else(|_| Err(Failure::Late(Error::unavailable("making a diff took too long"))))
}

/// The row of a diff that cannot be made.
pub(super) fn failed(base: &ReleaseRow, problem: Problem, app: &Context) -> MadeRow {
    MadeRow { base_sha256: base.blob_sha256.clone(), blob_sha256: None, size: 0, problem: Some(problem), made_time: app.now() }
}
