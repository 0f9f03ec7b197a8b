//! Builds snapshots: one worker per key builds each version once, for all requests that wait for it.
//!
//! A key has at most one worker. A build serves all requests that arrived before it started to read; later ones find the result, or wait for the next
//! build. So a deployment that changes constantly, or whose snapshot is slow to build, keeps only one worker busy. Workers wait for build slots, and
//! one account can never take all of them: however many deployments it has, it does not delay other accounts. Start reading at [`Snapshots::join`]
//! and [`Worker::run`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use shared::Invalid;
use shared::keys::DeploymentKey;
use shared::kv::SnapshotMetadata;
use shared::snapshot::{Snapshot, SnapshotKeys};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::cache::{Built, SnapshotCache};
use super::repo;
use super::slots::{BuildSlot, BuildSlots};
use super::versions::Versions;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result, chain};
use crate::infra::clock::Clock;
use crate::infra::db::Db;

/// Build timeout. After it, waiting requests get an "unavailable" error.
const BUILD_TIMEOUT: Duration = Duration::from_secs(20);

/// The requested form of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The KV value, signed within the last hour.
    Text,
    /// Parsed, to answer an update check here.
    Parsed,
}

/// The result for all waiting requests; `None` for a key that never existed.
pub type Answer = Result<Option<Built>, Fault>;

/// Why a build failed, cloned for each waiting request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The database could not be read.
    Unavailable(Arc<str>),
    /// The stored data does not form a valid snapshot.
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

/// The snapshot cache, and the workers that fill it.
#[derive(Clone, Debug)]
pub struct Snapshots(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Source,
    versions: Versions,
    cache: SnapshotCache,
    /// Waiting requests by key. A key in this map has a worker.
    waiting: Mutex<HashMap<DeploymentKey, Vec<Waiter>>>,
    slots: BuildSlots,
    builds: AtomicU64,
}

#[derive(Debug)]
struct Waiter {
    version: i64,
    form: Form,
    answer: oneshot::Sender<Answer>,
}

/// The source that builds read from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The database.
    pub db: Db,
    /// The time.
    pub clock: Clock,
    /// Sign snapshots.
    pub keys: SnapshotKeys,
    /// The largest snapshot, in bytes.
    pub max_bytes: usize,
}

impl Source {
    /// The service's own source.
    pub fn of(context: &Context) -> Self {
        let max_bytes = usize::try_from(context.settings.limits.snapshot_bytes).unwrap_or(usize::MAX);
        let keys = context.settings.snapshot_keys.clone();
        Self { db: context.db.clone(), clock: context.clock.clone(), keys, max_bytes }
    }
}

impl Snapshots {
    /// An empty cache of at most `max_bytes`.
    pub fn new(source: Source, max_bytes: usize) -> Self {
        let (waiting, slots, builds) = (Mutex::default(), BuildSlots::default(), AtomicU64::new(0));
        Self(Arc::new(Inner { source, versions: Versions::default(), cache: SnapshotCache::new(max_bytes), waiting, slots, builds }))
    }

    /// Returns the key's current parsed snapshot, built from the database if its version changed. `None` if the key never existed. A deleted
    /// deployment has a tombstone.
    pub async fn current(&self, key: &DeploymentKey) -> Result<Option<Arc<Snapshot>>> {
        let Some(version) = self.version(key).await? else { return Ok(None) };
        if let Some(snapshot) = self.0.cache.parsed(key, version) {
            return Ok(Some(snapshot));
        }
        // Boxed, so that the future of a check that hits the cache stays small: moving and allocating large futures costs measurable time.
        let built = Box::pin(self.get(key, version, Form::Parsed)).await?;
        Ok(built.and_then(|built| built.snapshot))
    }

    /// Returns the key's current KV value: its version and the signed text, consistent with each other. `None` if the key never existed.
    pub async fn text(&self, key: &DeploymentKey) -> Result<Option<(i64, Bytes)>> {
        let Some(version) = self.version(key).await? else { return Ok(None) };
        let built = self.get(key, version, Form::Text).await?;
        Ok(built.map(|built| (built.version, built.text)))
    }

    /// The metadata of a KV value with this version that this process signs.
    pub fn metadata(&self, version: i64) -> SnapshotMetadata {
        SnapshotMetadata { version, signer: Some(self.0.source.keys.signer().to_owned()) }
    }

    /// Returns the key's current version in the database; `None` if the key never existed.
    pub async fn version(&self, key: &DeploymentKey) -> Result<Option<i64>> {
        self.0.versions.of(&self.0.source.db, key).await
    }

    /// The size of the cache in bytes.
    pub fn bytes(&self) -> usize {
        self.0.cache.bytes()
    }

    /// The number of snapshots built from the database since startup.
    pub fn builds(&self) -> u64 {
        self.0.builds.load(Ordering::Relaxed)
    }

    /// Waits for a slot to build one of this account's snapshots.
    pub async fn build_slot(&self, account: &str) -> Option<BuildSlot> {
        self.0.slots.acquire(account).await
    }

    /// Returns the key's snapshot from the cache or a build. `version` is the version read from the database after the request arrived. `None` if the
    /// key never existed.
    async fn get(&self, key: &DeploymentKey, version: i64, form: Form) -> Result<Option<Built>> {
        if let Some(built) = self.ready(key, version, form) {
            return Ok(Some(built));
        }
        let (answer, worker) = self.join(key, version, form);
        if let Some(worker) = worker {
            // A separate task: the request that started it may be canceled, and others still wait for the result.
            tokio::spawn(worker.run());
        }
        match answer.await {
            Ok(answer) => answer.map_err(Fault::into_error),
            Err(_) => Err(Error::unavailable("the snapshot build was aborted")),
        }
    }

    /// Joins the requests that wait for the key's snapshot. The first caller also gets the worker, and must run it.
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
        let is_usable = |built: &Built| match form {
            Form::Text => built.is_signed_recently(self.0.source.clock.now()),
            Form::Parsed => built.snapshot.is_some(),
        };
        self.0.cache.get(key, version).filter(is_usable)
    }

    /// No code panics between related changes, so the data behind a poisoned lock is still valid.
    fn waiting(&self) -> MutexGuard<'_, HashMap<DeploymentKey, Vec<Waiter>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds one key's snapshot for all waiting requests.
#[derive(Debug)]
pub struct Worker {
    snapshots: Snapshots,
    key: DeploymentKey,
    /// Whether the worker has left the map.
    is_over: bool,
}

impl Worker {
    /// Builds until no request waits.
    pub async fn run(mut self) {
        let snapshots = self.snapshots.clone();
        let source = &snapshots.0.source;
        let account = self.account(source).await.unwrap_or_default();
        loop {
            // Take the slot before the waiting requests, so that one build serves all that arrived in the meantime.
            let _slot = snapshots.build_slot(&account).await;
            let Some(mut waiters) = self.next() else { return };
            // Serve requests for the version that the previous round built.
            waiters = waiters.into_iter().filter_map(|waiter| self.serve(waiter)).collect();
            let Some(form) = waiters.iter().map(|waiter| waiter.form).reduce(|one, other| if one == Form::Parsed { one } else { other })
            else {
                continue;
            };
            let answer = match timeout(BUILD_TIMEOUT, self.build(source, form)).await {
                Ok(built) => built.map_err(|error| Fault::of(&error)),
                Err(elapsed) => Err(Fault::Unavailable(chain(&elapsed).into())),
            };
            for waiter in waiters {
                // A canceled request needs no answer.
                drop(waiter.answer.send(answer.clone()));
            }
        }
    }

    /// The key's account, read before taking a slot: it is one indexed read, while a build needs many. `None` if the database cannot be read; then
    /// the build fails as well and reports why.
    async fn account(&self, source: &Source) -> Option<String> {
        let account = timeout(BUILD_TIMEOUT, async {
            let mut tx = source.db.read().await?;
            repo::find_account(&mut tx, &self.key).await
        });
        account.await.ok()?.ok()?
    }

    /// Takes the waiting requests. If there are none, returns `None` and ends this worker.
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

    /// Answers from the cache, or returns the waiter.
    fn serve(&self, waiter: Waiter) -> Option<Waiter> {
        let Some(built) = self.snapshots.ready(&self.key, waiter.version, waiter.form) else { return Some(waiter) };
        drop(waiter.answer.send(Ok(Some(built))));
        None
    }

    /// Returns the snapshot of the database's current version, built and signed unless it is cached. All waiting requests arrived before this read, so it is new
    /// enough for each. Versions are compared for equality, not order: a restored database continues from an older version.
    async fn build(&self, source: &Source, form: Form) -> Result<Option<Built>> {
        let mut tx = source.db.read().await?;
        let Some(row) = repo::find_key(&mut tx, &self.key).await? else { return Ok(None) };
        let known = self.snapshots.0.cache.get(&self.key, row.snapshot_version);
        let now = source.clock.now();
        let (recent, parsed) = match known {
            Some(known) if known.is_signed_recently(now) => (Some(known), None),
            known => (None, known.and_then(|known| known.snapshot)),
        };
        let mut built = if let Some(recent) = recent {
            recent
        } else {
            let header = row.header(now);
            let history = match row.deployment() {
                Some(deployment) => Some(repo::history(&mut tx, deployment, source.max_bytes).await?),
                None => None,
            };
            drop(tx);
            self.snapshots.0.builds.fetch_add(1, Ordering::Relaxed);
            let (version, max_bytes) = (row.snapshot_version, source.max_bytes);
            // Large snapshots would block the other tasks on this thread.
            let (keys, key) = (source.keys.clone(), self.key.clone());
            let written = spawn_blocking(move || {
                let json = match history {
                    Some(history) => Snapshot::publish_within(&header, &history, max_bytes)?,
                    None => Snapshot::publish_tombstone(&header),
                };
                Ok::<_, Invalid>(keys.sign(&key, &json))
            });
            let text = written.await.map_err(Error::internal)?.map_err(Error::internal)?;
            Built { version, text: Bytes::from(text), signed: now, snapshot: parsed }
        };
        if form == Form::Parsed && built.snapshot.is_none() {
            let (keys, key, text) = (source.keys.clone(), self.key.clone(), built.text.clone());
            let parsed =
                spawn_blocking(move || Snapshot::parse(keys.verify(&key, &text).map_err(Error::internal)?).map_err(Error::internal));
            built.snapshot = Some(Arc::new(parsed.await.map_err(Error::internal)??));
        }
        self.snapshots.0.cache.put(&self.key, built.clone());
        Ok(Some(built))
    }
}

impl Drop for Worker {
    /// Runs early after a panic or runtime shutdown: waiting requests get an error, and the next request starts a new worker.
    fn drop(&mut self) {
        if !self.is_over {
            self.snapshots.waiting().remove(&self.key);
        }
    }
}
