//! Group reads: which version the database names for a key, asked once for all checks that wait.
//!
//! A check is answered from a parsed snapshot in memory, but never from one that the database has replaced, whoever replaced it: this process, another
//! replica, a restored copy. So each check asks for the version of its key. While one look is under way the next checks gather, and one statement
//! answers them all: the more checks there are, the less a look costs each. A look begins after the checks that it answers came in, so that each sees
//! every change that was committed before it was sent.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::keys::DeploymentKey;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::repo;
use crate::domain::error::{Error, Result, chain};
use crate::infra::db::{Db, Glance};

/// How long a look may take, its repetition included, before those whom it is for are told that the service is unavailable; as long as one waits for a
/// connection. A check that comes in while a look is under way waits for the end of that one first, so at most twice as long.
const LONGEST: Duration = Duration::from_secs(10);

/// Looks on one connection in a row. The pool looks after connections only while it has them, and under steady load it would never have this one.
const MOST_LOOKS: u32 = 1_000;

/// The version of a key, none for a key that never was; or why the database could not be asked, shared by all whom the look was for.
type Answer = Result<Option<i64>, Arc<str>>;

/// The checks that wait for a look.
#[derive(Clone, Debug, Default)]
pub struct Versions(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    asked: Vec<(DeploymentKey, oneshot::Sender<Answer>)>,
    /// Whether somebody looks, and will look again for those who asked in between.
    is_looking: bool,
}

impl Versions {
    /// The version that the database names for the key now; none when the key never was. The error is
    /// [`Unavailable`](Error::Unavailable).
    pub async fn of(&self, db: &Db, key: &DeploymentKey) -> Result<Option<i64>> {
        let (answer, answered) = oneshot::channel();
        let looks_already = {
            let mut waiting = self.waiting();
            waiting.asked.push((key.clone(), answer));
            std::mem::replace(&mut waiting.is_looking, true)
        };
        if !looks_already {
            // A task of its own: the check that began it may be given up, and the others still want their answers.
            tokio::spawn(Looker(Some(self.clone())).run(db.clone()));
        }
        match answered.await {
            Ok(Ok(version)) => Ok(version),
            Ok(Err(cause)) => Err(Error::unavailable(cause.as_ref())),
            Err(_) => Err(Error::unavailable("the look at the versions of snapshots was given up")),
        }
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever looks; none once it has said that it stops.
struct Looker(Option<Versions>);

impl Looker {
    async fn run(mut self, db: Db) {
        // Kept from look to look, as long as somebody waits.
        let mut glance = None;
        let mut looks = 0;
        loop {
            // Requests that have arrived already are read first, and come along.
            yield_now().await;
            let Some(asked) = self.next() else { return };
            let keys = asked.iter().map(|(key, _)| key).collect();
            let looked = match timeout(LONGEST, look(&db, &mut glance, &keys)).await {
                Ok(Ok(versions)) => Ok(versions),
                Ok(Err(error)) => Err(chain(&error)),
                Err(elapsed) => Err(chain(&elapsed)),
            };
            looks += 1;
            if looked.is_err() || looks >= MOST_LOOKS {
                // The connection may be lost; the pool knows what to do with it.
                glance = None;
                looks = 0;
            }
            answer(asked, looked);
        }
    }

    /// Those who wait; none, and the end of looking, when there are none.
    fn next(&mut self) -> Option<Vec<(DeploymentKey, oneshot::Sender<Answer>)>> {
        let mut waiting = self.0.as_ref()?.waiting();
        if waiting.asked.is_empty() {
            waiting.is_looking = false;
            drop(waiting);
            self.0 = None;
            return None;
        }
        Some(std::mem::take(&mut waiting.asked))
    }
}

impl Drop for Looker {
    /// Cut short, by a panic or the end of the runtime: those who wait are told, and the next check begins anew.
    fn drop(&mut self) {
        if let Some(versions) = &self.0 {
            let mut waiting = versions.waiting();
            waiting.asked.clear();
            waiting.is_looking = false;
        }
    }
}

/// Asks for the versions of these keys, once more when the connection failed: it may have been lost since the pool gave it, as all are when the database
/// starts anew, and those who wait have no part in that.
async fn look(db: &Db, glance: &mut Option<Glance>, keys: &BTreeSet<&DeploymentKey>) -> sqlx::Result<HashMap<DeploymentKey, i64>> {
    let taken = match glance {
        Some(glance) => glance,
        None => glance.insert(db.glance().await?),
    };
    if let Ok(versions) = repo::versions_of(taken, keys).await {
        return Ok(versions);
    }
    // Given back before another is asked for: there may be no other.
    *glance = None;
    repo::versions_of(glance.insert(db.glance().await?), keys).await
}

fn answer(asked: Vec<(DeploymentKey, oneshot::Sender<Answer>)>, looked: Result<HashMap<DeploymentKey, i64>, String>) {
    let looked = looked.map_err(Arc::<str>::from);
    for (key, answer) in asked {
        let version = looked.as_ref().map(|versions| versions.get(&key).copied()).map_err(Arc::clone);
        // Whoever has gone needs no answer.
        drop(answer.send(version));
    }
}
