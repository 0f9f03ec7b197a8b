//! Batched reads of snapshot versions: one statement for all waiting checks.
//!
//! A check is answered from a cached snapshot, but never from one that is outdated in the database, no matter what replaced it: this process, another
//! replica, or a restore. So each check reads the version of its key. While one read is in progress, the next checks queue up, and one statement
//! answers them all: the more checks, the less each costs. A read starts after the checks that it answers have arrived, so each check sees every
//! change committed before it was sent.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::keys::DeploymentKey;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::repo;
use crate::domain::error::{Error, Result, chain};
use crate::infra::db::{Db, ReadConnection};

/// Timeout of a read including its retry, after which its checks get an "unavailable" error; the same as the wait for a connection. A check that
/// arrives during a read first waits for that one, so it waits at most twice as long.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Consecutive reads on one connection. The pool maintains connections only while it has them, and under steady load it would never get this one
/// back.
const MAX_READS: u32 = 1_000;

/// The version of a key (`None` if it never existed), or why the read failed, shared by all its checks.
type Answer = Result<Option<i64>, Arc<str>>;

/// The checks that wait for a read.
#[derive(Clone, Debug, Default)]
pub struct Versions(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    checks: Vec<(DeploymentKey, oneshot::Sender<Answer>)>,
    /// Whether a reader task is running. It also serves checks that arrive while it runs.
    is_reading: bool,
}

impl Versions {
    /// Returns the key's current version in the database; `None` if the key never existed. The error is [`Unavailable`](Error::Unavailable).
    pub async fn of(&self, db: &Db, key: &DeploymentKey) -> Result<Option<i64>> {
        let (answer, answered) = oneshot::channel();
        let has_reader = {
            let mut waiting = self.waiting();
            waiting.checks.push((key.clone(), answer));
            std::mem::replace(&mut waiting.is_reading, true)
        };
        if !has_reader {
            // A separate task: the check that started it may be canceled, and others still wait for the result.
            tokio::spawn(Reader(Some(self.clone())).run(db.clone()));
        }
        match answered.await {
            Ok(Ok(version)) => Ok(version),
            Ok(Err(cause)) => Err(Error::unavailable(cause.as_ref())),
            Err(_) => Err(Error::unavailable("reading the snapshot versions was aborted")),
        }
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader task; `None` once it has marked itself as stopped.
struct Reader(Option<Versions>);

impl Reader {
    async fn run(mut self, db: Db) {
        // The connection is reused as long as checks wait.
        let mut connection = None;
        let mut reads = 0;
        loop {
            // Let requests that have already arrived join this batch.
            yield_now().await;
            let Some(checks) = self.next() else { return };
            let keys = checks.iter().map(|(key, _)| key).collect();
            let result = match timeout(READ_TIMEOUT, read_versions(&db, &mut connection, &keys)).await {
                Ok(Ok(versions)) => Ok(versions),
                Ok(Err(error)) => Err(chain(&error)),
                Err(elapsed) => Err(chain(&elapsed)),
            };
            reads += 1;
            if result.is_err() || reads >= MAX_READS {
                // The connection may be broken; the pool handles that.
                connection = None;
                reads = 0;
            }
            answer(checks, result);
        }
    }

    /// Takes the waiting checks. If there are none, returns `None` and marks the reader as stopped.
    fn next(&mut self) -> Option<Vec<(DeploymentKey, oneshot::Sender<Answer>)>> {
        let mut waiting = self.0.as_ref()?.waiting();
        if waiting.checks.is_empty() {
            waiting.is_reading = false;
            drop(waiting);
            self.0 = None;
            return None;
        }
        Some(std::mem::take(&mut waiting.checks))
    }
}

impl Drop for Reader {
    /// Runs early after a panic or runtime shutdown: waiting checks get an error, and the next check starts a new reader.
    fn drop(&mut self) {
        if let Some(versions) = &self.0 {
            let mut waiting = versions.waiting();
            waiting.checks.clear();
            waiting.is_reading = false;
        }
    }
}

/// Reads the versions of these keys, and retries once on a new connection: the kept one may have been lost, for example when the database restarted,
/// and the waiting checks must not fail for that.
async fn read_versions(
    db: &Db,
    connection: &mut Option<ReadConnection>,
    keys: &BTreeSet<&DeploymentKey>,
) -> sqlx::Result<HashMap<DeploymentKey, i64>> {
    let taken = match connection {
        Some(connection) => connection,
        None => connection.insert(db.connection().await?),
    };
    if let Ok(versions) = repo::versions_of(taken, keys).await {
        return Ok(versions);
    }
    // Return the connection before taking another: the pool may have only one.
    *connection = None;
    repo::versions_of(connection.insert(db.connection().await?), keys).await
}

fn answer(checks: Vec<(DeploymentKey, oneshot::Sender<Answer>)>, result: Result<HashMap<DeploymentKey, i64>, String>) {
    let result = result.map_err(Arc::<str>::from);
    for (key, answer) in checks {
        let version = result.as_ref().map(|versions| versions.get(&key).copied()).map_err(Arc::clone);
        // A canceled check needs no answer.
        drop(answer.send(version));
    }
}
