//! The client of Workers KV's REST API, or of what stands in for it under `wrangler dev`.
//!
//! It says of each write what is known of it: written, refused, or unknown. What to do about that is decided by [`crate::jobs::snapshots`].

pub mod bulk;

use std::collections::HashSet;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::Deserialize;
use serde_json::Value;
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata};

use self::bulk::Bulk;
use crate::infra::error::{Cause, chain};

/// From the first byte sent to the last received. Well below the publisher's lease, so that a write ends before its lease does.
pub const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Shorter than any server's: a write on a connection that the server is just closing would be one of unknown outcome.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Far more than the answer to a bulk write in which every key failed.
const MOST_ANSWER: usize = 8 << 20;
/// What a 429 without a readable `retry-after` means.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The longest pause that is believed; KV's own windows are five minutes.
pub(crate) const MOST_RETRY_AFTER: Duration = Duration::from_mins(10);
/// Keys in one page of the list: the API's most.
const PAGE: &str = "1000";
/// The code of a namespace that is not there.
const NO_SUCH_NAMESPACE: i64 = 10_013;

/// Cloudflare's KV REST API, or wrangler's stand-in for it.
#[derive(Clone)]
pub struct KvConfig {
    /// The API's base address up to and without `/storage/kv`.
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

/// Speaks to one namespace.
#[derive(Clone, Debug)]
pub struct KvClient {
    http: Client,
    /// Address of the namespace, without a trailing slash.
    address: String,
    /// Marked as sensitive, so that nothing prints it.
    authorization: HeaderValue,
}

/// What is known of a bulk write.
#[derive(Debug)]
pub enum WriteOutcome {
    /// All pairs are in KV but those of these names, which are not.
    Written {
        /// Names in KV, to be tried again.
        refused: HashSet<String>,
    },
    /// Nothing is in KV, and nothing should be sent for so long.
    RateLimited(Duration),
    /// Nothing is in KV.
    Refused(String),
    /// Some, all or none may be in KV, now or in a moment.
    Unknown(String),
}

/// One page of the list of keys.
#[derive(Debug)]
pub struct KeyPage {
    /// Names with the version in their metadata; none where there is no readable one.
    pub keys: Vec<(String, Option<i64>)>,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

/// Why the keys could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Nothing should be sent for so long.
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
    /// A client for the namespace of the settings. The process must have a crypto provider of rustls installed.
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
            // What never reached a server cannot have been written.
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
            Ok(answer) => judge(status, &answer, bulk),
            Err(reason) if status.is_success() => WriteOutcome::Unknown(reason),
            Err(_) => WriteOutcome::Refused(format!("status {}", status.as_u16())),
        }
    }

    /// The keys of snapshots, from `cursor` on.
    pub async fn list(&self, cursor: Option<&str>) -> Result<KeyPage, ListError> {
        let mut query = vec![("prefix", <SnapshotKey<'_> as KvKey>::PREFIX), ("limit", PAGE)];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = self.http.get(format!("{}/keys", self.address)).query(&query).header(AUTHORIZATION, self.authorization.clone());
        let response = request.send().await.map_err(|error| ListError::Failed(plain(error)))?;
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(ListError::RateLimited(retry_after(&response)));
        }
        let answer = read::<Vec<ListedKey>>(response).await.map_err(ListError::Failed)?;
        let Some(keys) = answer.result.filter(|_| status.is_success() && answer.success) else {
            return Err(ListError::Failed(refusal(status, &answer.errors)));
        };
        let keys = keys.into_iter().map(|key| (key.name, version(key.metadata))).collect();
        let cursor = answer.result_info.and_then(|info| info.cursor).filter(|cursor| !cursor.is_empty());
        Ok(KeyPage { keys, cursor })
    }
}

/// A 200 may name keys that failed; wrangler's API answers such a case with an error status and the same result.
fn judge(status: StatusCode, answer: &Answer<BulkResult>, bulk: &Bulk) -> WriteOutcome {
    let refused = match &answer.result {
        Some(result) if result.unsuccessful_keys.is_subset(bulk.names()) => {
            let written = bulk.len() - result.unsuccessful_keys.len();
            (result.successful_key_count == Some(written)).then(|| result.unsuccessful_keys.clone())
        }
        _ => None,
    };
    match refused {
        Some(refused) => WriteOutcome::Written { refused },
        None if status.is_success() => {
            WriteOutcome::Unknown(format!("an answer that cannot be right, {}", refusal(status, &answer.errors)))
        }
        None => WriteOutcome::Refused(refusal(status, &answer.errors)),
    }
}

fn version(metadata: Option<Value>) -> Option<i64> {
    serde_json::from_value::<SnapshotMetadata>(metadata?).ok().map(|metadata| metadata.version)
}

/// Status and codes; never the API's messages, which may name keys.
fn refusal(status: StatusCode, faults: &[Fault]) -> String {
    let codes: Vec<String> = faults.iter().filter_map(|fault| fault.code).map(|code| code.to_string()).collect();
    let mut text = format!("status {}", status.as_u16());
    if !codes.is_empty() {
        text.push_str(", code ");
        text.push_str(&codes.join(" "));
    }
    if faults.iter().any(|fault| fault.code == Some(NO_SUCH_NAMESPACE)) {
        text.push_str(": UPDRAFT_KV_NAMESPACE names no namespace");
    } else if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        text.push_str(": UPDRAFT_KV_TOKEN is not accepted");
    }
    text
}

fn retry_after(response: &Response) -> Duration {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.trim().parse().ok());
    seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs).min(MOST_RETRY_AFTER)
}

async fn read<T: for<'de> Deserialize<'de>>(mut response: Response) -> Result<Answer<T>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(plain)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST_ANSWER {
            return Err("an answer that is too long".to_owned());
        }
    }
    serde_json::from_slice(&bytes).map_err(|_| format!("status {} with an answer that is not the API's", response.status().as_u16()))
}

/// The error with its causes, without the address.
fn plain(error: reqwest::Error) -> String {
    chain(&error.without_url())
}
