//! The server that apps are moved from. It is read with the key of one of its accounts, by GET only.
//!
//! Start at [`Source::read`].

mod fault;
mod json;
mod reach;
mod read;
pub(crate) mod retry;
mod sent;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, StatusCode, Url, header};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use shared::hash::Sha256Hex;
use tokio::io::AsyncWriteExt;

use self::json::Weighed;
use self::reach::Reach;

pub use fault::Fault;
pub use read::{App, Collaborator, Counts, Deployment, Entry};

/// The name that requests have.
const AGENT: &str = concat!("updraft-import/", env!("CARGO_PKG_VERSION"));
/// How long a connection may take to open.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long a server may send nothing.
const SILENCE: Duration = Duration::from_mins(1);
/// How long one answer of the API may take in all.
const LONGEST_ANSWER: Duration = Duration::from_mins(10);
/// How long one package may take.
const LONGEST_PACKAGE: Duration = Duration::from_mins(30);
/// The largest JSON body, in bytes: far more than the largest history that can be imported has.
const LARGEST_JSON: usize = 64 << 20;
/// The most bytes of JSON and its entries in all: they are in memory together.
const MOST_JSON: usize = 512 << 20;

/// A server, and a key for it.
pub struct Source {
    api: reqwest::Client,
    packages: reqwest::Client,
    base: Url,
    key: String,
    reach: Reach,
    /// The bytes of JSON that were read, and those that its entries take.
    read: AtomicUsize,
}

/// Without the key.
impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Source").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Source {
    /// The server at an http or https address, with an access key. The process must have installed a TLS provider.
    pub async fn new(address: &str, key: &str) -> Result<Self, Fault> {
        let base = base(address)?;
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Fault::KeyShape);
        }
        // A redirect could lead the key elsewhere. Packages are fetched without it.
        let reach = Reach::of(&base).await;
        let api = build(reach.hold(builder(SILENCE).redirect(Policy::none())))?;
        let packages = build(reach.guard(builder(SILENCE)))?;
        Ok(Self { api, packages, base, key: key.to_owned(), reach, read: AtomicUsize::new(0) })
    }

    /// The server's address, without a slash at the end: what an import is known by.
    pub fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// GET of a path of the management API, given as segments, which are encoded. Repeats it while the server is busy. Returns the JSON object.
    async fn get<T: DeserializeOwned + Weighed>(&self, segments: &[&str]) -> Result<T, Fault> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        retry::repeat(async || {
            let answer = tokio::time::timeout(LONGEST_ANSWER, self.get_once(&url)).await;
            answer.unwrap_or(Err(Fault::TooSlow(LONGEST_ANSWER)))
        })
        .await
    }

    async fn get_once<T: DeserializeOwned + Weighed>(&self, url: &Url) -> Result<T, Fault> {
        let request = self
            .api
            .get(url.clone())
            .bearer_auth(&self.key)
            .header(header::ACCEPT, "application/vnd.code-push.v2+json")
            .header("X-CodePush-CLI-Version", "2.1.9");
        let answer = request.send().await.map_err(|error| Fault::Unreachable(cause(error)))?;
        let (status, wait, path) = (answer.status(), retry::wanted_wait(answer.headers()), url.path().to_owned());
        // What is left of the bound for all answers, so that one that is too large is not read again and again.
        let left = MOST_JSON.saturating_sub(self.read.load(Ordering::Relaxed)).min(LARGEST_JSON);
        let body = collect(answer, left).await.map_err(|fault| match fault {
            Fault::TooMuch(_) => {
                self.read.fetch_add(left, Ordering::Relaxed);
                Fault::TooMuch(if left < LARGEST_JSON { MOST_JSON } else { LARGEST_JSON })
            }
            other => other,
        })?;
        self.read.fetch_add(body.len(), Ordering::Relaxed);
        match status {
            StatusCode::OK => {
                let answer: T = serde_json::from_slice(&body).map_err(|error| Fault::Shape {
                    path,
                    // The error's own text repeats what was sent.
                    what: format!("the answer is not in the form that was expected, at line {}, column {}", error.line(), error.column()),
                })?;
                self.read.fetch_add(answer.bytes(), Ordering::Relaxed);
                Ok(answer)
            }
            StatusCode::UNAUTHORIZED => Err(Fault::Key),
            status => Err(Fault::Refused { path, status: status.as_u16(), text: said(&body), wait }),
        }
    }

    /// Downloads a package to a file. Returns its size in bytes and its hash. A package that arrived in part is an error.
    ///
    /// The key is not sent: the address is the storage's.
    pub async fn download(&self, address: &str, file: &mut tokio::fs::File, limit: u64) -> Result<(u64, Sha256Hex), Fault> {
        let package = tokio::time::timeout(LONGEST_PACKAGE, self.download_once(address, file, limit)).await;
        package.unwrap_or(Err(Fault::TooSlow(LONGEST_PACKAGE)))
    }

    async fn download_once(&self, address: &str, file: &mut tokio::fs::File, limit: u64) -> Result<(u64, Sha256Hex), Fault> {
        // The error names no address: it may have a signature in it.
        let url = Url::parse(address).map_err(|_| Fault::Package("its address is not a URL".to_owned()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::Package("its address is neither http nor https".to_owned()));
        }
        self.reach.check(&url).await?;
        let answer = self.packages.get(url).send().await.map_err(|error| Fault::Unreachable(cause(error)))?;
        let (status, wait) = (answer.status(), retry::wanted_wait(answer.headers()));
        if status != StatusCode::OK {
            let what = Fault::Refused { path: "the package".to_owned(), status: status.as_u16(), text: String::new(), wait };
            return Err(what);
        }
        let expected = answer.content_length();
        let (mut chunks, mut hasher, mut size) = (answer.bytes_stream(), Sha256::new(), 0_u64);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Fault::Unreachable(cause(error)))?;
            size += chunk.len() as u64;
            if size > limit {
                return Err(Fault::TooLarge(limit));
            }
            hasher.update(&chunk);
            file.write_all(&chunk).await.map_err(Fault::Disk)?;
        }
        if expected.is_some_and(|expected| expected != size) {
            return Err(Fault::Unreachable("the connection ended before the package did".to_owned()));
        }
        file.flush().await.map_err(Fault::Disk)?;
        Ok((size, Sha256Hex::from_digest(hasher.finalize().into())))
    }
}

/// The address of a server as imports are known by it: normalized, without a slash at the end. Errors: if it is none.
pub fn address(text: &str) -> Result<String, Fault> {
    base(text).map(|base| base.as_str().trim_end_matches('/').to_owned())
}

/// The address of a server: http or https, without a user name, query or fragment.
pub(crate) fn base(address: &str) -> Result<Url, Fault> {
    let begins = || Fault::Address("it must begin with https:// or http://".to_owned());
    let wrong = |error: &dyn std::fmt::Display| if address.contains("://") { Fault::Address(error.to_string()) } else { begins() };
    let mut base = Url::parse(address.trim()).map_err(|error| wrong(&error))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(begins());
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(Fault::Address("it must not contain a user name or a password".to_owned()));
    }
    base.set_query(None);
    base.set_fragment(None);
    Ok(base)
}

/// A client that gives up on a server that sends nothing for so long.
pub(crate) fn builder(silence: Duration) -> ClientBuilder {
    reqwest::Client::builder().user_agent(AGENT).connect_timeout(CONNECTING).read_timeout(silence)
}

pub(crate) fn build(builder: ClientBuilder) -> Result<reqwest::Client, Fault> {
    builder.build().map_err(|error| Fault::Unreachable(cause(error)))
}

/// What failed, without the address: those of packages have signatures in them, those of checks have keys and client IDs.
pub(crate) fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(next) = source {
        text = format!("{text}: {next}");
        source = next.source();
    }
    // What a server without TLS answers to a client that begins with it.
    if text.contains("InvalidContentType") {
        return "it does not speak TLS there. Does its address begin with http://?".to_owned();
    }
    text
}

/// The body of an answer, of at most so many bytes.
pub(crate) async fn collect(answer: reqwest::Response, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| Fault::Unreachable(cause(error)))?);
        if body.len() > limit {
            return Err(Fault::TooMuch(limit));
        }
    }
    Ok(body)
}

/// The beginning of a plain-text refusal, fit to print. An HTML page says nothing.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.trim().lines().next().unwrap_or_default();
    if line.starts_with('<') { String::new() } else { line.chars().filter(|letter| !letter.is_control()).take(200).collect() }
}
