//! Builds snapshots: each version of each key once, by one worker that all who wait join.
//!
//! A key has at most one worker. It builds for all who came before it began to read; who comes later finds what it built, or waits for its next round.
//! So a deployment that changes all the time, or whose snapshot takes long, keeps one worker busy. Workers wait for turns, of which one account has a
//! share and never all: however many deployments it has, it holds up nobody who asks for another account's. Start reading at [`Snapshots::join`] and
//! [`Worker::run`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use shared::keys::DeploymentKey;
use shared::snapshot::Snapshot;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::cache::{Built, SnapshotCache};
use super::repo;
use super::turns::{Turn, Turns};
use super::versions::Versions;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, chain};
use crate::infra::clock::Clock;
use crate::infra::db::Db;

/// How long a build may take before those who wait for it are told that the service is unavailable.
const LONGEST: Duration = Duration::from_secs(20);

/// In which form a snapshot is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The KV value.
    Text,
    /// Parsed, for a check that is answered here.
    Parsed,
}

/// What a worker tells all who wait: none for a key that never was.
pub type Answer = Result<Option<Built>, Fault>;

/// Why nothing was built, told to each who waited.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The database could not be asked.
    Unavailable(Arc<str>),
    /// What is stored makes no snapshot.
    Internal(Arc<str>),
}

impl Fault {
    fn of(error: &Error) -> Self {
        let cause = chain(error).into();
        if matches!(error, Error::Unavailable(_)) { Self::Unavailable(cause) } else { Self::Internal(cause) }
    }

    fn into_error(self) -> Error {
        match self {
            Self::Unavailable(cause) => Error::unavailable(cause.as_ref()),
            Self::Internal(cause) => Error::internal(cause.as_ref()),
        }
    }
}

/// Snapshots in memory, and whoever builds those that are not.
#[derive(Clone, Debug)]
pub struct Snapshots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    versions: Versions,
    cache: SnapshotCache,
    /// Who waits, by key. A key that is here has a worker.
    waiting: Mutex<HashMap<DeploymentKey, Vec<Waiter>>>,
    turns: Turns,
    builds: AtomicU64,
}

#[derive(Debug)]
struct Waiter {
    version: i64,
    form: Form,
    answer: oneshot::Sender<Answer>,
}

/// What a build reads from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// The largest snapshot, in bytes.
    pub most_bytes: usize,
}

impl Source {
    /// The service's own.
    pub fn of(context: &Context) -> Self {
        let most_bytes = usize::try_from(context.settings.limits.snapshot_bytes).unwrap_or(usize::MAX);
        Self { db: context.db.clone(), clock: context.clock.clone(), most_bytes }
    }
}

impl Snapshots {
    /// None yet; at most `max_bytes` are kept.
    pub fn new(source: Source, max_bytes: usize) -> Self {
        let (waiting, turns, builds) = (Mutex::default(), Turns::default(), AtomicU64::new(0));
        Self(Arc::new(Inner { source, versions: Versions::default(), cache: SnapshotCache::new(max_bytes), waiting, turns, builds }))
    }

    /// The parsed snapshot that answers for this key now, built from the database when its version changed. None: the key never was. A deleted
    /// deployment's is a tombstone.
    pub async fn current(&self, key: &DeploymentKey) -> Result<Option<Arc<Snapshot>>> {
        let Some(version) = self.version(key).await? else { return Ok(None) };
        if let Some(snapshot) = self.0.cache.parsed(key, version) {
            return Ok(Some(snapshot));
        }
        // Apart, so that the future of a check that needs none of it stays small: large ones are moved and allocated at a cost that shows.
        let built = Box::pin(self.get(key, version, Form::Parsed)).await?;
        Ok(built.and_then(|built| built.snapshot))
    }

    /// The KV value of this key now: its version and the JSON text, both of one moment. None: the key never was.
    pub async fn text(&self, key: &DeploymentKey) -> Result<Option<(i64, Bytes)>> {
        let Some(version) = self.version(key).await? else { return Ok(None) };
        let built = self.get(key, version, Form::Text).await?;
        Ok(built.map(|built| (built.version, built.text)))
    }

    /// The version that the database names for the key now; none when the key never was.
    pub async fn version(&self, key: &DeploymentKey) -> Result<Option<i64>> {
        self.0.versions.of(&self.0.source.db, key).await
    }

    /// The bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.0.cache.bytes()
    }

    /// How many snapshots were built of what is stored since the start.
    pub fn builds(&self) -> u64 {
        self.0.builds.load(Ordering::Relaxed)
    }

    /// Waits for a turn to build a snapshot of this account's.
    pub async fn turn(&self, account: &str) -> Option<Turn> {
        self.0.turns.take(account).await
    }

    /// The key's snapshot, from memory or built. `version` is what the database named when the request had come in. None: the key never was.
    async fn get(&self, key: &DeploymentKey, version: i64, form: Form) -> Result<Option<Built>> {
        if let Some(built) = self.ready(key, version, form) {
            return Ok(Some(built));
        }
        let (answer, worker) = self.join(key, version, form);
        if let Some(worker) = worker {
            // A task of its own: the request that began it may be given up, and the others still want their answers.
            tokio::spawn(worker.run());
        }
        match answer.await {
            Ok(answer) => answer.map_err(Fault::into_error),
            Err(_) => Err(Error::unavailable("the build of a snapshot was given up")),
        }
    }

    /// Waits with all others for the key's snapshot. Whoever is the first gets the worker, too, and must let it run.
    pub fn join(&self, key: &DeploymentKey, version: i64, form: Form) -> (oneshot::Receiver<Answer>, Option<Worker>) {
        let (answer, answered) = oneshot::channel();
        let waiter = Waiter { version, form, answer };
        let mut waiting = self.waiting();
        let worker = if let Some(waiters) = waiting.get_mut(key) {
            waiters.push(waiter);
            None
        } else {
            waiting.insert(key.clone(), vec![waiter]);
            Some(Worker { snapshots: self.clone(), key: key.clone(), is_over: false })
        };
        (answered, worker)
    }

    fn ready(&self, key: &DeploymentKey, version: i64, form: Form) -> Option<Built> {
        self.0.cache.get(key, version).filter(|built| form == Form::Text || built.snapshot.is_some())
    }

    /// Nothing in here panics between two changes that belong together, so a poisoned lock is as good as any.
    fn waiting(&self) -> MutexGuard<'_, HashMap<DeploymentKey, Vec<Waiter>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds one key's snapshot for all who wait for it.
#[derive(Debug)]
pub struct Worker {
    snapshots: Snapshots,
    key: DeploymentKey,
    /// Whether the key has no worker any more.
    is_over: bool,
}

impl Worker {
    /// Builds until nobody waits.
    pub async fn run(mut self) {
        let snapshots = self.snapshots.clone();
        let source = &snapshots.0.source;
        let account = self.account(source).await.unwrap_or_default();
        loop {
            // First the turn and then those who wait, so that all who came while this waited are answered by one build.
            let _turn = snapshots.turn(&account).await;
            let Some(mut waiters) = self.next() else { return };
            // Whoever wants the version that the last round built has it.
            waiters = waiters.into_iter().filter_map(|waiter| self.served(waiter)).collect();
            let Some(form) = waiters.iter().map(|waiter| waiter.form).reduce(|one, other| if one == Form::Parsed { one } else { other })
            else {
                continue;
            };
            let answer = match timeout(LONGEST, self.renew(source, form)).await {
                Ok(built) => built.map_err(|error| Fault::of(&error)),
                Err(elapsed) => Err(Fault::Unavailable(chain(&elapsed).into())),
            };
            for waiter in waiters {
                // Whoever has gone needs no answer.
                drop(waiter.answer.send(answer.clone()));
            }
        }
    }

    /// Whose key it is, asked before there is a turn: it costs one indexed read, and a build many. None when the database cannot say; the build, which
    /// cannot be done then, either, tells all who wait why.
    async fn account(&self, source: &Source) -> Option<String> {
        let looked = timeout(LONGEST, async {
            let mut tx = source.db.read().await?;
            repo::find_account(&mut tx, &self.key).await
        });
        looked.await.ok()?.ok()?
    }

    /// Those who wait; none, and the end of this worker, when there are none.
    fn next(&mut self) -> Option<Vec<Waiter>> {
        let mut waiting = self.snapshots.waiting();
        let waiters = waiting.get_mut(&self.key).map(std::mem::take).unwrap_or_default();
        if waiters.is_empty() {
            waiting.remove(&self.key);
            self.is_over = true;
            return None;
        }
        Some(waiters)
    }

    /// Answers from memory, or gives the waiter back.
    fn served(&self, waiter: Waiter) -> Option<Waiter> {
        let Some(built) = self.snapshots.ready(&self.key, waiter.version, waiter.form) else { return Some(waiter) };
        drop(waiter.answer.send(Ok(Some(built))));
        None
    }

    /// The snapshot of the version that the database names now, built unless it is in memory. All who wait asked before this, so it is as new as each of
    /// them wants it; equal and not newer is what counts, since a restored database counts its versions from where it was.
    async fn renew(&self, source: &Source, form: Form) -> Result<Option<Built>> {
        let mut tx = source.db.read().await?;
        let Some(row) = repo::find_key(&mut tx, &self.key).await? else { return Ok(None) };
        let known = self.snapshots.0.cache.get(&self.key, row.snapshot_version);
        let mut built = if let Some(known) = known {
            known
        } else {
            let header = row.header(source.clock.now());
            let history = match row.deployment() {
                Some(deployment) => Some(repo::history(&mut tx, deployment, source.most_bytes).await?),
                None => None,
            };
            drop(tx);
            self.snapshots.0.builds.fetch_add(1, Ordering::Relaxed);
            let (version, most_bytes) = (row.snapshot_version, source.most_bytes);
            // Large ones take long enough to be noticed by everything else on this thread.
            let written = spawn_blocking(move || match history {
                Some(history) => Snapshot::publish_within(&header, &history, most_bytes),
                None => Ok(Snapshot::publish_tombstone(&header)),
            });
            let text = written.await.map_err(Error::internal)?.map_err(Error::internal)?;
            Built { version, text: Bytes::from(text), snapshot: None }
        };
        if form == Form::Parsed && built.snapshot.is_none() {
            let text = built.text.clone();
            let parsed = spawn_blocking(move || Snapshot::parse(&text)).await.map_err(Error::internal)?;
            built.snapshot = Some(Arc::new(parsed.map_err(Error::internal)?));
        }
        self.snapshots.0.cache.put(&self.key, built.clone());
        Ok(Some(built))
    }
}

impl Drop for Worker {
    /// Cut short, by a panic or the end of the runtime: those who wait are told, and the next request begins anew.
    fn drop(&mut self) {
        if !self.is_over {
            self.snapshots.waiting().remove(&self.key);
        }
    }
}
