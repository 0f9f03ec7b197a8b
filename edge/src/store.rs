//! Fetches a deployment's snapshot: from isolate memory, else from KV, else from control.
//!
//! `memory` decides and caches, without I/O; this module does the I/O. A request never awaits what another request started, because the runtime
//! cancels that with its owner. So two concurrent misses both do the lookup.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use shared::hash::hex;
use shared::keys::DeploymentKey;
use shared::kv::snapshot_key;
use shared::snapshot::{Distrust, Signed, Snapshot, signature_line};
use shared::time::UnixMillis;
use shared::wire::problem::UNKNOWN_DEPLOYMENT;
use worker::Env;

use crate::Call;
use crate::control;
use crate::env::{self, Settings};
use crate::hmac;
use crate::log;
use crate::memory::{Ages, CacheResult, Memory, Place};
use crate::reply::{Failure, Refusal};
use crate::tally::{self, Event};

/// The bound of the cache, out of the isolate's 128 MB.
const MAX_BYTES: usize = 32 << 20;
/// KV's minimum.
const KV_CACHE_SECONDS: u64 = 30;
/// Far longer than KV's slowest usual response, short enough for a waiting client.
const KV_TIMEOUT: Duration = Duration::from_secs(3);
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a snapshot came from, in the log.
const KV: &str = "kv";
const CONTROL: &str = "control";
/// Where control is told what was not trusted.
const COUNTERS_PATH: &str = "/internal/v1/edge-counters";

thread_local! {
    static MEMORY: RefCell<Memory<Snapshot>> = RefCell::new(Memory::new(MAX_BYTES));
}

/// The result of a lookup in KV and control.
enum Found {
    Usable(Usable),
    /// The key does not exist, in KV or in control.
    Nothing,
    /// KV has nothing usable, and control was unreachable.
    Unreachable,
    /// KV has nothing usable, and the rate limit for lookups at control was reached.
    TooMany,
}

/// A snapshot to answer with.
enum Usable {
    /// From a value whose signature was verified, or that needs none.
    Read { snapshot: Snapshot, line: Option<Box<[u8]>>, is_from_control: bool },
    /// The cached one, which is at least as new as the value.
    Known(Rc<Snapshot>),
}

impl Usable {
    fn snapshot(&self) -> &Snapshot {
        match self {
            Self::Read { snapshot, .. } => snapshot,
            Self::Known(snapshot) => snapshot,
        }
    }
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
                follow_up(&settings).await;
            });
            snapshot
        }
        CacheResult::Unknown => return Err(unknown_key()),
        CacheResult::Miss => {
            let settled = settle(settings, key, look_up(call.env, settings, key).await);
            let now = env::now();
            if tally::is_due(now) || MEMORY.with_borrow(|memory| memory.has_unconfirmed(now.as_millis())) {
                let settings = Rc::clone(settings);
                call.context.wait_until(async move { follow_up(&settings).await });
            }
            settled?
        }
    })
}

/// Reads from control the versions of snapshots that KV gave first, and tells it what was not trusted. Runs behind an answer.
async fn follow_up(settings: &Settings) {
    loop {
        let keys = MEMORY.with_borrow_mut(|memory| memory.take_unconfirmed(env::now().as_millis()));
        if keys.is_empty() {
            break;
        }
        let versions = fetch_versions(settings, &keys).await;
        let is_answered = versions.is_some();
        let version = versions.map(|versions| move |key: &str| versions.get(key)?.as_i64());
        let now = env::now().as_millis();
        let behind = MEMORY.with_borrow_mut(|memory| memory.confirm_versions(keys, version, now));
        let mut is_failed = false;
        for (key, is_new) in &behind {
            if *is_new {
                tally::note(Event::Replayed, "snapshot.replayed", json!({"from": "kv"}));
            }
            is_failed |= !replace(settings, key).await;
        }
        if is_failed {
            MEMORY.with_borrow_mut(|memory| memory.pause(env::now().as_millis()));
        }
        // What is left has failed, and waits for the next answer.
        if !is_answered || !behind.is_empty() {
            break;
        }
    }
    let call = tally::with(|tally| tally.begin(env::now().as_millis(), || Some(hex(&env::entropy().ok()?))));
    if let Some(call) = call
        && let Ok(body) = serde_json::to_string(&call)
    {
        match control::call(settings, "POST", COUNTERS_PATH, Some(&body), CONTROL_TIMEOUT).await {
            // An earlier version of control does not have this path; then its own log has to do.
            Ok(answer) if answer.status == 200 || answer.status == 404 => tally::with(|tally| tally.end(call.sequence)),
            Ok(answer) => log::event("counters.control_failed", json!({"status": answer.status})),
            Err(error) => log::event("counters.control_failed", json!({"error": error})),
        }
    }
}

/// Fetches a snapshot whose version is higher in control than in KV. Returns whether there was an answer.
async fn replace(settings: &Settings, key: &str) -> bool {
    let Ok(key) = DeploymentKey::try_from(key) else { return true };
    if !MEMORY.with_borrow_mut(|memory| memory.may_fetch_from_control(env::now().as_millis())) {
        return false;
    }
    let found = fetch_from_control(settings, &key).await;
    let is_answered = matches!(found, Found::Usable(_) | Found::Nothing);
    settle(settings, &key, found).ok();
    is_answered
}

/// Tells control what was not trusted, behind an answer, if that is due.
pub(crate) fn tell(call: &Call<'_>) {
    if tally::is_due(env::now()) {
        let settings = Rc::clone(call.settings);
        call.context.wait_until(async move { follow_up(&settings).await });
    }
}

/// Control's versions of these keys; `None` if it cannot be asked.
async fn fetch_versions(settings: &Settings, keys: &[String]) -> Option<Value> {
    let path = format!("/internal/v1/versions?keys={}", keys.join(","));
    let fault = match control::call(settings, "GET", &path, None, CONTROL_TIMEOUT).await {
        Ok(answer) if answer.status == 200 => match serde_json::from_slice::<Value>(&answer.body) {
            // `VersionsAnswer`, read as a value: another type would cost the Worker more code.
            Ok(Value::Object(mut answer)) => return answer.remove("versions"),
            Ok(_) => json!({"error": "it is no object"}),
            Err(error) => json!({"error": error.to_string()}),
        },
        Ok(answer) => json!({"status": answer.status}),
        Err(error) => json!({"error": error}),
    };
    log::event("versions.control_failed", fault);
    None
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
        Found::Usable(Usable::Known(snapshot)) => Ok(memory.confirm(key, snapshot.revision(), now).unwrap_or(snapshot)),
        Found::Usable(Usable::Read { snapshot, line, is_from_control }) => {
            let place = Place { revision: snapshot.revision(), weight: snapshot.weight(), line, is_from_control };
            Ok(memory.insert(key, Rc::new(snapshot), place, now))
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
    let mut old = None;
    match control::within(KV_TIMEOUT, fetch_from_kv(env, key)).await {
        Some(Ok(Some(bytes))) => match read(settings, key, &bytes, KV).await {
            // Somebody may be keeping newer ones back, so control is asked first.
            Some(usable) if usable.snapshot().is_old(env::now()) => {
                tally::note(Event::Old, "snapshot.old", json!({"from": KV, "signed": usable.snapshot().signed()}));
                old = Some(usable);
            }
            Some(usable) => return Found::Usable(usable),
            None => {}
        },
        // KV also caches misses, so a new deployment may be known only to control.
        Some(Ok(None)) => {}
        Some(Err(error)) => log::event("snapshot.kv_failed", json!({"error": error.to_string()})),
        None => log::event("snapshot.kv_failed", json!({"error": control::no_answer(KV_TIMEOUT)})),
    }
    let found = if MEMORY.with_borrow_mut(|memory| memory.may_fetch_from_control(env::now().as_millis())) {
        fetch_from_control(settings, key).await
    } else {
        Found::TooMany
    };
    match (found, old) {
        (Found::Unreachable | Found::TooMany, Some(old)) => Found::Usable(old),
        // A lower version never replaces a higher one.
        (Found::Usable(controls), Some(old)) if old.snapshot().revision() > controls.snapshot().revision() => Found::Usable(old),
        (found, _) => found,
    }
}

/// Reads a value of KV or control, unless it cannot be trusted. A value with the first line of the cached one is neither verified nor parsed.
async fn read(settings: &Settings, key: &DeploymentKey, value: &[u8], from: &'static str) -> Option<Usable> {
    let line = signature_line(value);
    let same = line.and_then(|line| MEMORY.with_borrow_mut(|memory| memory.same(key.as_str(), line)));
    if let Some(known) = same {
        return Some(Usable::Known(known));
    }
    let distrust = |why: Distrust| {
        tally::distrusted(from, &why.to_string());
        None
    };
    let json = match verify(settings, key, value).await {
        Ok(json) => json,
        Err(Distrust::Unsigned) if settings.is_unsigned_allowed => value,
        Err(why) => return distrust(why),
    };
    match Snapshot::parse(json) {
        // Only the previous format may come without a signature: somebody has cut this one's off.
        Ok(snapshot) if snapshot.signed().is_some() != line.is_some() => distrust(Distrust::Unsigned),
        Ok(snapshot) => Some(Usable::Read { snapshot, line: line.map(Box::from), is_from_control: from == CONTROL }),
        Err(fault) => {
            log::event("snapshot.unreadable", json!({"from": from, "error": fault.to_string()}));
            None
        }
    }
}

/// Verifies a value that was stored for this deployment key, and returns its JSON.
async fn verify<'v>(settings: &Settings, key: &DeploymentKey, value: &'v [u8]) -> Result<&'v [u8], Distrust> {
    let keys = &settings.snapshot_keys;
    if value.len() < hmac::LARGE {
        return keys.verify(key, value);
    }
    let signed = Signed::of(key, value)?;
    match hmac::is_signed_by(keys.keys(), &signed).await {
        Ok(true) => Ok(signed.json),
        Ok(false) => Err(Distrust::WrongSignature),
        // Without the runtime's help it is only slower.
        Err(error) => {
            log::event("snapshot.crypto_failed", json!({"error": format!("{error:?}")}));
            keys.verify(key, value)
        }
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
        Ok(answer) if answer.status == 200 => read(settings, key, &answer.body, CONTROL).await.map_or(Found::Unreachable, Found::Usable),
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
