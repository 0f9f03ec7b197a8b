//! Where a deployment's snapshot comes from: isolate memory, else KV, else control.
//!
//! `memory` decides and remembers, without I/O; this file asks. No request ever awaits what another request started, because the runtime
//! cancels it with its owner; two requests that miss at once both look up.

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
use crate::memory::{Ages, Memory, Recall};
use crate::reply::{Failure, Refusal};

/// Of the 128 MB that an isolate has.
const MOST_BYTES: usize = 32 << 20;
/// KV's own minimum.
const KV_CACHE_SECONDS: u64 = 30;
/// Longer than KV's slowest usual answer by far, short enough for a client that waits.
const KV_MOST: Duration = Duration::from_secs(3);
const CONTROL_MOST: Duration = Duration::from_secs(5);

thread_local! {
    static MEMORY: RefCell<Memory<Snapshot>> = RefCell::new(Memory::new(MOST_BYTES));
}

/// What a look-up outside of the isolate found.
enum Found {
    Snapshot(Snapshot),
    /// What memory has is at least as new as what KV has.
    Known(Rc<Snapshot>),
    /// KV does not have it, and control knows that nobody does.
    Nothing,
    /// KV has nothing usable, and control could not be asked.
    Unreachable,
    /// KV has nothing usable, and control has been asked too often just now.
    TooMany,
}

/// The snapshot of a deployment: 404 for a key that nobody knows or that is deleted, 503 when nobody can be asked.
pub(crate) async fn snapshot(call: &Call<'_>, key: &DeploymentKey) -> Result<Rc<Snapshot>, Failure> {
    let settings = call.settings;
    let recall = MEMORY.with_borrow_mut(|memory| memory.recall(key.as_str(), call.now.as_millis(), settings.ages));
    let snapshot = match recall {
        Recall::Use(snapshot) => snapshot,
        Recall::UseAndRefresh(snapshot) => {
            let (env, settings, key) = (call.env.clone(), Rc::clone(settings), key.clone());
            call.context.wait_until(async move {
                let found = look_up(&env, &settings, &key).await;
                // Nobody waits for this: what could not be refreshed is tried again later.
                settle(&settings, &key, found).ok();
            });
            snapshot
        }
        Recall::Unknown => return Err(unknown_key()),
        Recall::LookUp => settle(settings, key, look_up(call.env, settings, key).await)?,
    };
    if snapshot.is_tombstone() { Err(unknown_key()) } else { Ok(snapshot) }
}

/// The snapshot of a deployment where memory alone can answer, now and with nothing to do besides.
pub(crate) fn remembered(key: &DeploymentKey, now: UnixMillis, ages: Ages) -> Option<Rc<Snapshot>> {
    let snapshot = MEMORY.with_borrow_mut(|memory| memory.good(key.as_str(), now.as_millis(), ages))?;
    (!snapshot.is_tombstone()).then_some(snapshot)
}

fn unknown_key() -> Failure {
    Refusal::new(404, UNKNOWN_DEPLOYMENT).into()
}

/// Takes what a look-up found into memory, and gives back what to answer with.
fn settle(settings: &Settings, key: &DeploymentKey, found: Found) -> Result<Rc<Snapshot>, Failure> {
    let now = env::now().as_millis();
    let key = key.as_str();
    MEMORY.with_borrow_mut(|memory| match found {
        Found::Known(snapshot) => Ok(snapshot),
        Found::Snapshot(snapshot) => {
            let (version, weight) = (snapshot.version(), snapshot.weight());
            Ok(memory.admit(key, Rc::new(snapshot), version, weight, now))
        }
        Found::Nothing => {
            memory.note_unknown(key, now);
            Err(unknown_key())
        }
        Found::Unreachable => {
            let old = memory.spare(key, now, settings.ages.fresh);
            old.ok_or_else(|| Refusal::unavailable("the deployment cannot be looked up at the moment", 5).into())
        }
        Found::TooMany => {
            let old = memory.spare(key, now, settings.ages.fresh);
            old.ok_or_else(|| Refusal::unavailable("too many deployments are being looked up", 1).into())
        }
    })
}

async fn look_up(env: &Env, settings: &Settings, key: &DeploymentKey) -> Found {
    match control::within(KV_MOST, ask_kv(env, key)).await {
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
        // KV also caches "missing", so a deployment made a moment ago may be known to control only.
        Some(Ok(None)) => {}
        Some(Err(error)) => log::event("snapshot.kv_failed", json!({"error": error.to_string()})),
        None => log::event("snapshot.kv_failed", json!({"error": control::no_answer(KV_MOST)})),
    }
    if MEMORY.with_borrow_mut(|memory| memory.may_ask_control(env::now().as_millis())) {
        ask_control(settings, key).await
    } else {
        Found::TooMany
    }
}

async fn ask_kv(env: &Env, key: &DeploymentKey) -> Result<Option<Vec<u8>>, worker::Error> {
    let store = env.kv(env::SNAPSHOTS)?;
    Ok(store.get(&snapshot_key(key)).cache_ttl(KV_CACHE_SECONDS).bytes().await?)
}

/// Whether control itself said that this key is nobody's. Only that may throw a remembered snapshot away: a wrong address, a secret that the
/// two do not share and a proxy's page are 404 too.
fn says_unknown(answer: &control::Answer) -> bool {
    let text = |body: &[u8]| serde_json::from_slice::<Value>(body).ok()?.get("error")?.as_str().map(str::to_owned);
    answer.status == 404 && text(&answer.body).as_deref() == Some(UNKNOWN_DEPLOYMENT)
}

async fn ask_control(settings: &Settings, key: &DeploymentKey) -> Found {
    let path = format!("/internal/v1/snapshots/{}", key.as_str());
    match control::call(settings, "GET", &path, None, CONTROL_MOST).await {
        Ok(answer) if answer.status == 200 => match Snapshot::parse(&answer.body) {
            Ok(snapshot) => Found::Snapshot(snapshot),
            Err(fault) => {
                log::event("snapshot.unreadable", json!({"from": "control", "error": fault.to_string()}));
                Found::Unreachable
            }
        },
        Ok(answer) if says_unknown(&answer) => Found::Nothing,
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
