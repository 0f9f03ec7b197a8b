//! Fetches a deployment's snapshot: from isolate memory, else from KV, else from control.
//!
//! `memory` decides and caches, without I/O; this module does the I/O. A request never awaits what another request started, because the runtime
//! cancels that with its owner. So two concurrent misses both do the lookup.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shared::keys::DeploymentKey;
use shared::kv::snapshot_key;
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;
use shared::wire::problem::UNKNOWN_DEPLOYMENT;
use worker::Env;

use crate::Call;
use crate::control;
use crate::env::{self, Settings};
use crate::log;
use crate::memory::{Ages, CacheResult, Memory};
use crate::reply::{Failure, Refusal};

/// The bound of the cache, out of the isolate's 128 MB.
const MAX_BYTES: usize = 32 << 20;
/// KV's minimum.
const KV_CACHE_SECONDS: u64 = 30;
/// Far longer than KV's slowest usual response, short enough for a waiting client.
const KV_TIMEOUT: Duration = Duration::from_secs(3);
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

thread_local! {
    static MEMORY: RefCell<Memory<Snapshot>> = RefCell::new(Memory::new(MAX_BYTES));
}

/// The result of a lookup in KV and control.
enum Found {
    Snapshot(Snapshot),
    /// The cached snapshot is at least as new as KV's.
    Known(Rc<Snapshot>),
    /// The key does not exist, in KV or in control.
    Nothing,
    /// KV has nothing usable, and control was unreachable.
    Unreachable,
    /// KV has nothing usable, and the rate limit for lookups at control was reached.
    TooMany,
}

/// The snapshot of a deployment: 404 for a key that is unknown or whose deployment is deleted, 503 when it cannot be fetched.
pub(crate) async fn snapshot(call: &Call<'_>, key: &DeploymentKey) -> Result<Rc<Snapshot>, Failure> {
    let snapshot = snapshot_or_tombstone(call, key).await?;
    if snapshot.is_tombstone() { Err(unknown_key()) } else { Ok(snapshot) }
}

/// The snapshot of a deployment, or the tombstone of a deleted one: 404 for a key that is unknown, 503 when it cannot be fetched.
pub(crate) async fn snapshot_or_tombstone(call: &Call<'_>, key: &DeploymentKey) -> Result<Rc<Snapshot>, Failure> {
    let settings = call.settings;
    let result = MEMORY.with_borrow_mut(|memory| memory.get(key.as_str(), call.now.as_millis(), settings.ages));
    Ok(match result {
        CacheResult::Hit(snapshot) => snapshot,
        CacheResult::HitAndRefresh(snapshot) => {
            let (env, settings, key) = (call.env.clone(), Rc::clone(settings), key.clone());
            call.context.wait_until(async move {
                let found = look_up(&env, &settings, &key).await;
                // Nobody waits for this result: a failed refresh is retried later.
                settle(&settings, &key, found).ok();
            });
            snapshot
        }
        CacheResult::Unknown => return Err(unknown_key()),
        CacheResult::Miss => settle(settings, key, look_up(call.env, settings, key).await)?,
    })
}

/// The snapshot of a deployment, if the cache alone can answer and no refresh is due.
pub(crate) fn remembered(key: &DeploymentKey, now: UnixMillis, ages: Ages) -> Option<Rc<Snapshot>> {
    let snapshot = MEMORY.with_borrow_mut(|memory| memory.get_fresh(key.as_str(), now.as_millis(), ages))?;
    (!snapshot.is_tombstone()).then_some(snapshot)
}

fn unknown_key() -> Failure {
    Refusal::new(404, UNKNOWN_DEPLOYMENT).into()
}

/// Caches the result of a lookup, and returns what to answer with.
fn settle(settings: &Settings, key: &DeploymentKey, found: Found) -> Result<Rc<Snapshot>, Failure> {
    let now = env::now().as_millis();
    let key = key.as_str();
    MEMORY.with_borrow_mut(|memory| match found {
        Found::Known(snapshot) => Ok(snapshot),
        Found::Snapshot(snapshot) => {
            let (version, weight) = (snapshot.version(), snapshot.weight());
            Ok(memory.insert(key, Rc::new(snapshot), version, weight, now))
        }
        Found::Nothing => {
            memory.note_unknown(key, now);
            Err(unknown_key())
        }
        Found::Unreachable => {
            let old = memory.keep_stale(key, now, settings.ages.fresh);
            old.ok_or_else(|| Refusal::unavailable("the deployment cannot be looked up at the moment", 5).into())
        }
        Found::TooMany => {
            let old = memory.keep_stale(key, now, settings.ages.fresh);
            old.ok_or_else(|| Refusal::unavailable("too many deployments are being looked up", 1).into())
        }
    })
}

async fn look_up(env: &Env, settings: &Settings, key: &DeploymentKey) -> Found {
    match control::within(KV_TIMEOUT, fetch_from_kv(env, key)).await {
        Some(Ok(Some(bytes))) => {
            let confirm = |version| MEMORY.with_borrow_mut(|memory| memory.confirm(key.as_str(), version, env::now().as_millis()));
            if let Some(known) = Snapshot::version_in(&bytes).and_then(confirm) {
                return Found::Known(known);
            }
            match Snapshot::parse(&bytes) {
                Ok(snapshot) => return Found::Snapshot(snapshot),
                Err(fault) => log::event("snapshot.unreadable", json!({"from": "kv", "error": fault.to_string()})),
            }
        }
        // KV also caches misses, so a new deployment may be known only to control.
        Some(Ok(None)) => {}
        Some(Err(error)) => log::event("snapshot.kv_failed", json!({"error": error.to_string()})),
        None => log::event("snapshot.kv_failed", json!({"error": control::no_answer(KV_TIMEOUT)})),
    }
    if MEMORY.with_borrow_mut(|memory| memory.may_fetch_from_control(env::now().as_millis())) {
        fetch_from_control(settings, key).await
    } else {
        Found::TooMany
    }
}

async fn fetch_from_kv(env: &Env, key: &DeploymentKey) -> Result<Option<Vec<u8>>, worker::Error> {
    let store = env.kv(env::SNAPSHOTS)?;
    Ok(store.get(&snapshot_key(key)).cache_ttl(KV_CACHE_SECONDS).bytes().await?)
}

/// Whether control itself answered that the key is unknown. Only that may evict a cached snapshot: a wrong URL, a secret that does not match and a
/// proxy's page also lead to a 404.
fn is_unknown_key(answer: &control::Answer) -> bool {
    let text = |body: &[u8]| serde_json::from_slice::<Value>(body).ok()?.get("error")?.as_str().map(str::to_owned);
    answer.status == 404 && text(&answer.body).as_deref() == Some(UNKNOWN_DEPLOYMENT)
}

async fn fetch_from_control(settings: &Settings, key: &DeploymentKey) -> Found {
    let path = format!("/internal/v1/snapshots/{}", key.as_str());
    match control::call(settings, "GET", &path, None, CONTROL_TIMEOUT).await {
        Ok(answer) if answer.status == 200 => match Snapshot::parse(&answer.body) {
            Ok(snapshot) => Found::Snapshot(snapshot),
            Err(fault) => {
                log::event("snapshot.unreadable", json!({"from": "control", "error": fault.to_string()}));
                Found::Unreachable
            }
        },
        Ok(answer) if is_unknown_key(&answer) => Found::Nothing,
        Ok(answer) => {
            log::event("snapshot.control_failed", json!({"status": answer.status}));
            Found::Unreachable
        }
        Err(error) => {
            log::event("snapshot.control_failed", json!({"error": error}));
            Found::Unreachable
        }
    }
}
