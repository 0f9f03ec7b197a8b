//! A client of the Workers KV REST API, or of its emulation under `wrangler dev`.
//!
//! It classifies each write as written, refused or unknown. [`crate::jobs::snapshots`] decides what to do next.

pub mod bulk;

use std::collections::HashSet;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::Deserialize;
use serde_json::Value;
use shared::keys::DeploymentKey;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata, snapshot_key};

use self::bulk::{Bulk, MAX_VALUE_BYTES};
use crate::infra::error::{Cause, chain};

/// Timeout for a whole request. Well below the publisher's lease, so that a write ends before its lease expires.
pub const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Shorter than any server's: a write on a connection that the server is closing would have an unknown outcome.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of an answer: far more than that of a bulk write in which every key failed.
const MAX_ANSWER_BYTES: usize = 8 << 20;
/// The pause after a 429 without a valid `retry-after`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The maximum pause that is honored; KV's own windows are five minutes.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_mins(10);
/// Keys in one page of the list: the API's maximum.
const PAGE: &str = "1000";
/// The error code for a namespace that does not exist.
const NO_SUCH_NAMESPACE: i64 = 10_013;

/// The configuration of Cloudflare's KV REST API, or of wrangler's emulation.
#[derive(Clone)]
pub struct KvConfig {
    /// The API's base URL, without `/storage/kv`.
    pub api: String,
    /// The namespace's id.
    pub namespace: String,
    /// The API token.
    pub token: String,
}

impl std::fmt::Debug for KvConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KvConfig").field("api", &self.api).field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// A client of one namespace.
#[derive(Clone, Debug)]
pub struct KvClient {
    http: Client,
    /// The namespace's URL, without a trailing slash.
    address: String,
    /// Marked as sensitive, so that it is not printed.
    authorization: HeaderValue,
}

/// The outcome of a bulk write.
#[derive(Debug)]
pub enum WriteOutcome {
    /// All pairs were written, except those with these names.
    Written {
        /// Names of refused pairs, to retry.
        refused: HashSet<String>,
    },
    /// Nothing was written, and nothing should be sent for this long.
    RateLimited(Duration),
    /// Nothing was written.
    Refused(String),
    /// Some, all or none of the pairs may be written, now or shortly.
    Unknown(String),
}

/// One page of the list of keys.
#[derive(Debug)]
pub struct KeyPage {
    /// Names with their metadata; `None` without a valid version.
    pub keys: Vec<(String, Option<SnapshotMetadata>)>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// Why KV could not be listed or read.
#[derive(Debug, thiserror::Error)]
pub enum KvError {
    /// Nothing should be sent for this long.
    #[error("KV's rate limit is reached")]
    RateLimited(Duration),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

#[derive(Deserialize)]
struct Answer<T> {
    #[serde(default)]
    success: bool,
    #[serde(default = "Vec::new")]
    errors: Vec<Fault>,
    result: Option<T>,
    result_info: Option<ResultInfo>,
}

#[derive(Deserialize)]
struct Fault {
    code: Option<i64>,
}

#[derive(Deserialize)]
struct BulkResult {
    successful_key_count: Option<usize>,
    #[serde(default)]
    unsuccessful_keys: HashSet<String>,
}

#[derive(Deserialize)]
struct ListedKey {
    name: String,
    metadata: Option<Value>,
}

#[derive(Deserialize)]
struct ResultInfo {
    cursor: Option<String>,
}

impl KvClient {
    /// A client for the configured namespace. A rustls crypto provider must be installed.
    pub fn new(config: &KvConfig) -> Result<Self, Cause> {
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {}", config.token)).map_err(|_| "UPDRAFT_KV_TOKEN: cannot be sent as a header")?;
        authorization.set_sensitive(true);
        // No proxy from the environment, and no redirect: the token goes to the configured address and nowhere else.
        let http = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build()?;
        Ok(Self { http, address: format!("{}/storage/kv/namespaces/{}", config.api, config.namespace), authorization })
    }

    /// Writes all pairs in one request.
    pub async fn write(&self, bulk: &Bulk) -> WriteOutcome {
        let request = self
            .http
            .put(format!("{}/bulk", self.address))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(bulk.body());
        let response = match request.send().await {
            Ok(response) => response,
            // The request never reached a server, so nothing was written.
            Err(error) if error.is_connect() || error.is_builder() => return WriteOutcome::Refused(plain(error)),
            Err(error) => return WriteOutcome::Unknown(plain(error)),
        };
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            return WriteOutcome::RateLimited(retry_after(&response));
        }
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return WriteOutcome::Unknown(format!("status {}", status.as_u16()));
        }
        match read::<BulkResult>(response).await {
            Ok(answer) => classify(status, &answer, bulk),
            Err(reason) if status.is_success() => WriteOutcome::Unknown(reason),
            Err(_) => WriteOutcome::Refused(format!("status {}", status.as_u16())),
        }
    }

    /// Lists the keys of snapshots, from `cursor` on.
    pub async fn list(&self, cursor: Option<&str>) -> Result<KeyPage, KvError> {
        let mut query = vec![("prefix", <SnapshotKey<'_> as KvKey>::PREFIX), ("limit", PAGE)];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = self.http.get(format!("{}/keys", self.address)).query(&query).header(AUTHORIZATION, self.authorization.clone());
        let response = request.send().await.map_err(|error| KvError::Failed(plain(error)))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(KvError::RateLimited(retry_after(&response)));
        }
        let answer = read::<Vec<ListedKey>>(response).await.map_err(KvError::Failed)?;
        let Some(keys) = answer.result.filter(|_| status.is_success() && answer.success) else {
            return Err(KvError::Failed(refusal(status, &answer.errors)));
        };
        let keys = keys.into_iter().map(|key| (key.name, parsed(key.metadata))).collect();
        let cursor = answer.result_info.and_then(|info| info.cursor).filter(|cursor| !cursor.is_empty());
        Ok(KeyPage { keys, cursor })
    }

    /// Reads the value of a deployment key's snapshot; `None` if there is none.
    pub async fn read(&self, key: &DeploymentKey) -> Result<Option<Vec<u8>>, KvError> {
        // Deployment keys need no escapes; the slash after the prefix does.
        let name = snapshot_key(key).replace('/', "%2F");
        let request = self.http.get(format!("{}/values/{name}", self.address)).header(AUTHORIZATION, self.authorization.clone());
        let mut response = request.send().await.map_err(|error| KvError::Failed(plain(error)))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::TOO_MANY_REQUESTS => return Err(KvError::RateLimited(retry_after(&response))),
            status => return Err(KvError::Failed(refusal(status, &[]))),
        }
        let mut value = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| KvError::Failed(plain(error)))? {
            value.extend_from_slice(&chunk);
            if value.len() > MAX_VALUE_BYTES {
                return Err(KvError::Failed("the value is too large".to_owned()));
            }
        }
        Ok(Some(value))
    }
}

/// Interprets the answer to a bulk write. A 200 may name keys that failed; wrangler's API answers such a case with an error status and the same result.
fn classify(status: StatusCode, answer: &Answer<BulkResult>, bulk: &Bulk) -> WriteOutcome {
    let refused = match &answer.result {
        Some(result) if result.unsuccessful_keys.is_subset(bulk.names()) => {
            let written = bulk.len() - result.unsuccessful_keys.len();
            (result.successful_key_count == Some(written)).then(|| result.unsuccessful_keys.clone())
        }
        _ => None,
    };
    match refused {
        Some(refused) => WriteOutcome::Written { refused },
        None if status.is_success() => WriteOutcome::Unknown(format!("inconsistent answer, {}", refusal(status, &answer.errors))),
        None => WriteOutcome::Refused(refusal(status, &answer.errors)),
    }
}

fn parsed(metadata: Option<Value>) -> Option<SnapshotMetadata> {
    serde_json::from_value(metadata?).ok()
}

/// The status and error codes, without the API's messages: these may contain keys.
fn refusal(status: StatusCode, faults: &[Fault]) -> String {
    let codes: Vec<String> = faults.iter().filter_map(|fault| fault.code).map(|code| code.to_string()).collect();
    let mut text = format!("status {}", status.as_u16());
    if !codes.is_empty() {
        text.push_str(", code ");
        text.push_str(&codes.join(" "));
    }
    if faults.iter().any(|fault| fault.code == Some(NO_SUCH_NAMESPACE)) {
        text.push_str(": the namespace of UPDRAFT_KV_NAMESPACE does not exist");
    } else if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        text.push_str(": UPDRAFT_KV_TOKEN is not accepted");
    }
    text
}

fn retry_after(response: &Response) -> Duration {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.trim().parse().ok());
    seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs).min(MAX_RETRY_AFTER)
}

async fn read<T: for<'de> Deserialize<'de>>(mut response: Response) -> Result<Answer<T>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(plain)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER_BYTES {
            return Err("the answer is too large".to_owned());
        }
    }
    serde_json::from_slice(&bytes).map_err(|_| format!("status {} with an invalid answer", response.status().as_u16()))
}

/// The error with its causes, without the URL.
fn plain(error: reqwest::Error) -> String {
    chain(&error.without_url())
}
