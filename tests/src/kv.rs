//! A stand-in for Cloudflare's KV REST API, as strict as the real one and as unreliable as the test requests: it checks token and namespace, limits
//! writes to one per key and second and requests to 1,200 per five minutes, fails selected keys within a 200, loses responses, and delays visibility.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use control::testing::Clock;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::signed;

/// The only valid token.
pub const TOKEN: &str = "token-of-the-stand-in";
/// The only namespace.
pub const NAMESPACE: &str = "namespace-of-the-stand-in";

/// The account's rate limit: requests in five minutes.
const MOST_REQUESTS: usize = 1_200;
const WINDOW: i64 = 5 * 60_000;

/// The stand-in, listening on its own port until the test's runtime is dropped.
#[derive(Clone, Debug)]
pub struct KvStandIn {
    /// For `UPDRAFT_KV_API`.
    pub api: String,
    state: Arc<Mutex<Kept>>,
    clock: Clock,
}

/// Faults to simulate.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Keys that a bulk write fails, each this many times; the response is a 200 that lists them.
    pub failing: BTreeMap<String, u32>,
    /// The number of bulk writes that are applied but whose response is lost (502).
    pub lost_answers: u32,
    /// Milliseconds until a write is visible in lists and reads.
    pub delay: i64,
}

#[derive(Debug, Default)]
struct Kept {
    written: BTreeMap<String, Written>,
    requests: VecDeque<i64>,
    faults: Faults,
    seen: Seen,
}

/// Statistics of the requests.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Bulk writes that were applied at least partly.
    pub writes: usize,
    /// Writes of a key less than a second after the last one; a correct publisher makes none.
    pub too_soon: usize,
    /// Requests refused by the account's rate limit.
    pub over_rate: usize,
    /// Requests refused for a wrong token or namespace.
    pub refused: usize,
}

/// A key's values, newest last: the previous one is shown until the newer is visible.
#[derive(Debug, Default)]
struct Written {
    values: Vec<(i64, String, Value)>,
    last: i64,
}

impl Written {
    fn visible(&self, now: i64) -> Option<&(i64, String, Value)> {
        self.values.iter().rev().find(|(from, ..)| *from <= now)
    }
}

impl KvStandIn {
    /// Starts it with this clock.
    pub async fn start(clock: Clock) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let api = format!("http://{}", listener.local_addr().unwrap());
        let stand_in = Self { api, state: Arc::default(), clock };
        let router = Router::new()
            .route("/storage/kv/namespaces/{namespace}/bulk", put(write))
            .route("/storage/kv/namespaces/{namespace}/keys", get(list))
            .route("/storage/kv/namespaces/{namespace}/values/{name}", get(read))
            .with_state(stand_in.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        stand_in
    }

    /// Sets the faults from now on.
    pub fn fail(&self, faults: Faults) {
        self.state.lock().unwrap().faults = faults;
    }

    /// The statistics so far.
    pub fn seen(&self) -> Seen {
        self.state.lock().unwrap().seen.clone()
    }

    /// The JSON of a key's visible value, which must be signed.
    pub fn value(&self, key: &str) -> Option<Value> {
        let text = self.text(key)?;
        Some(signed::json(key.strip_prefix("deployment/")?, text.as_bytes()))
    }

    /// The visible value of a key.
    pub fn text(&self, key: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        Some(state.written.get(key)?.visible(self.now())?.1.clone())
    }

    /// The visible version in a key's metadata.
    pub fn version(&self, key: &str) -> Option<i64> {
        let state = self.state.lock().unwrap();
        state.written.get(key)?.visible(self.now())?.2["version"].as_i64()
    }

    /// Writes directly, ignoring limits.
    pub fn alter(&self, key: &str, text: &str, metadata: Value) {
        let now = self.now();
        let mut state = self.state.lock().unwrap();
        state.written.entry(key.to_owned()).or_default().values.push((now, text.to_owned(), metadata));
    }

    /// Deletes a key directly.
    pub fn remove(&self, key: &str) {
        self.state.lock().unwrap().written.remove(key);
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millis()
    }

    /// The error of a request that is refused before anything else is checked.
    fn authorize(&self, headers: &HeaderMap, namespace: &str) -> Result<(), Box<Response>> {
        let now = self.now();
        let mut state = self.state.lock().unwrap();
        while state.requests.front().is_some_and(|first| now - first >= WINDOW) {
            state.requests.pop_front();
        }
        if state.requests.len() >= MOST_REQUESTS {
            state.seen.over_rate += 1;
            let wait = state.requests.front().map_or(1, |first| (first + WINDOW - now + 999) / 1_000);
            return Err(Box::new(too_many(wait)));
        }
        state.requests.push_back(now);
        let authorized = headers.get(header::AUTHORIZATION).is_some_and(|value| value == &format!("Bearer {TOKEN}"));
        if !authorized {
            state.seen.refused += 1;
            return Err(Box::new(refusal(StatusCode::FORBIDDEN, 10_000, "Authentication error")));
        }
        if namespace != NAMESPACE {
            state.seen.refused += 1;
            return Err(Box::new(refusal(StatusCode::NOT_FOUND, 10_013, "namespace not found")));
        }
        Ok(())
    }
}

fn refusal(status: StatusCode, code: u32, message: &str) -> Response {
    let body = json!({ "success": false, "errors": [{ "code": code, "message": message }], "messages": [], "result": null });
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn too_many(seconds: i64) -> Response {
    let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, 10_429, "rate limited");
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

fn success(result: &Value, info: &Value) -> Response {
    let body = json!({ "success": true, "errors": [], "messages": [], "result": result, "result_info": info });
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn write(State(kv): State<KvStandIn>, Path(namespace): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err(refused) = kv.authorize(&headers, &namespace) {
        return *refused;
    }
    let Ok(Value::Array(pairs)) = serde_json::from_slice::<Value>(&body) else {
        return refusal(StatusCode::BAD_REQUEST, 10_001, "the body is not an array");
    };
    if pairs.len() > 10_000 {
        return refusal(StatusCode::BAD_REQUEST, 10_001, "more than 10,000 pairs");
    }
    let now = kv.now();
    let mut state = kv.state.lock().unwrap();
    let names: Vec<&str> = pairs.iter().map(|pair| pair["key"].as_str().unwrap()).collect();
    let too_soon = names.iter().filter(|name| state.written.get(**name).is_some_and(|written| now - written.last < 1_000)).count();
    if too_soon > 0 {
        state.seen.too_soon += too_soon;
        return too_many(1);
    }
    let mut unsuccessful = BTreeSet::new();
    for (pair, name) in pairs.iter().zip(names) {
        if let Some(times) = state.faults.failing.get_mut(name).filter(|times| **times > 0) {
            *times -= 1;
            unsuccessful.insert(name.to_owned());
            continue;
        }
        let from = now + state.faults.delay;
        let written = state.written.entry(name.to_owned()).or_default();
        written.values.push((from, pair["value"].as_str().unwrap().to_owned(), pair["metadata"].clone()));
        written.last = now;
    }
    state.seen.writes += 1;
    if state.faults.lost_answers > 0 {
        state.faults.lost_answers -= 1;
        return (StatusCode::BAD_GATEWAY, "a page of something in between").into_response();
    }
    let result = json!({ "successful_key_count": pairs.len() - unsuccessful.len(), "unsuccessful_keys": unsuccessful });
    success(&result, &Value::Null)
}

/// Pages of ten, so that even small tests have several.
async fn list(
    State(kv): State<KvStandIn>,
    Path(namespace): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    if let Err(refused) = kv.authorize(&headers, &namespace) {
        return *refused;
    }
    let now = kv.now();
    let state = kv.state.lock().unwrap();
    let (prefix, after) = (query.get("prefix").cloned().unwrap_or_default(), query.get("cursor").cloned().unwrap_or_default());
    let mut keys = state
        .written
        .iter()
        .filter(|(name, _)| name.starts_with(&prefix) && **name > after)
        .filter_map(|(name, written)| Some((name, &written.visible(now)?.2)))
        .map(|(name, metadata)| json!({ "name": name, "metadata": metadata }));
    let page: Vec<Value> = keys.by_ref().take(10).collect();
    let cursor =
        if keys.next().is_some() { page.last().and_then(|key| key["name"].as_str()).unwrap_or_default().to_owned() } else { String::new() };
    success(&json!(page), &json!({ "count": page.len(), "cursor": cursor }))
}

async fn read(State(kv): State<KvStandIn>, Path((namespace, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    if let Err(refused) = kv.authorize(&headers, &namespace) {
        return *refused;
    }
    kv.text(&name).map_or_else(|| refusal(StatusCode::NOT_FOUND, 10_009, "key not found"), IntoResponse::into_response)
}
