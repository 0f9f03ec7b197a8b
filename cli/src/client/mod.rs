//! The client of the public API: requests with retries, and answers as values or errors.
//!
//! A request is repeated only where nothing can happen twice: after 429 and 503, after a connection that could not be opened, and after a lost answer of
//! a read or of a request with an `Idempotency-Key`. Start at [`Client::get`]. Wording of refusals is in [`refusal`].

mod download;
mod path;
mod refusal;
mod retry;
mod upload;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use download::download;
pub(crate) use path::path;
pub(crate) use upload::Upload;

use crate::clock;
use crate::config::server::ServerUrl;
use crate::context::{Context, Credential};
use crate::error::{Error, Kind, Result};
use crate::output::table::plain;
use crate::output::terminal;

/// The name that the CLI sends as its own.
pub(crate) const USER_AGENT: &str = concat!("updraft-cli/", env!("CARGO_PKG_VERSION"));

/// The variable that sets how many seconds to wait for an answer.
const TIMEOUT: &str = "UPDRAFT_TIMEOUT";
/// How long to wait for an answer, unless the variable says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest that a limit of the server is waited for.
const LONGEST_LIMIT: Duration = Duration::from_hours(2);

/// A client of one server.
pub(crate) struct Client {
    http: reqwest::Client,
    url: ServerUrl,
    credential: Option<Credential>,
    /// How long the server may be silent. Uploads have a limit of their own.
    patience: Option<Duration>,
    has_said_waiting: AtomicBool,
    /// Whether every request may be repeated after a lost answer.
    repeats_all: bool,
    is_verbose: bool,
    is_quiet: bool,
}

/// An answer: the value, and the JSON that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Answer<T> {
    /// The value.
    pub value: T,
    /// The body as the server sent it; null without one.
    pub json: Value,
}

/// An answer of any status.
#[derive(Clone, Debug)]
pub(crate) struct RawAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: header::HeaderMap,
    /// The body.
    pub body: bytes::Bytes,
}

impl Client {
    /// A client of the server at `url`.
    pub(crate) fn new(context: &Context, url: &ServerUrl, credential: Option<Credential>) -> Result<Self> {
        Ok(Self {
            http: Self::http(|builder| builder)?,
            url: url.clone(),
            credential,
            patience: Some(patience()?),
            has_said_waiting: AtomicBool::new(false),
            repeats_all: false,
            is_verbose: context.global.verbose,
            is_quiet: context.is_quiet(),
        })
    }

    /// The same client without messages: for a command that draws on the whole terminal.
    pub(crate) fn without_messages(self) -> Self {
        Self { is_quiet: true, ..self }
    }

    /// The same client for operations that do nothing twice: it repeats each request after a lost answer.
    pub(crate) fn repeating(self) -> Self {
        Self { repeats_all: true, ..self }
    }

    /// The connections of a client. `limit` sets how long it waits for answers.
    fn http(limit: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> Result<reqwest::Client> {
        // Fails only if another provider is installed already: then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            // A redirect could lead the credential elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10));
        limit(builder)
            .build()
            .map_err(|error| Error::failed(format!("cannot prepare connections: {error}"), "Check this system's certificates."))
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// GET.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>> {
        self.read(&self.send(Method::GET, path, |request| request).await?)
    }

    /// POST with a JSON body.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Answer<T>> {
        self.read(&self.send(Method::POST, path, |request| request.json(body)).await?)
    }

    /// POST with a JSON body and an `Idempotency-Key`, so that it is repeated after a lost answer.
    pub(crate) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<Answer<T>> {
        self.read(&self.send(Method::POST, path, |request| request.header("Idempotency-Key", key).json(body)).await?)
    }

    /// PATCH with a JSON body. The answer can be 204: then there is no value.
    pub(crate) async fn patch<T: DeserializeOwned>(&self, path: &str, body: &(impl Serialize + ?Sized)) -> Result<Option<Answer<T>>> {
        let answer = self.send(Method::PATCH, path, |request| request.json(body)).await?;
        if answer.status == StatusCode::NO_CONTENT { Ok(None) } else { self.read(&answer).map(Some) }
    }

    /// DELETE. Returns the body's JSON, or null.
    pub(crate) async fn delete(&self, path: &str) -> Result<Value> {
        let answer = self.send(Method::DELETE, path, |request| request).await?;
        if answer.body.is_empty() { Ok(Value::Null) } else { Ok(self.read::<Value>(&answer)?.json) }
    }

    /// Sends a request, with retries, and turns refusals into errors. `build` adds body and headers; it is called for each attempt.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        build: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Result<RawAnswer> {
        let answer = self.raw(method, path, build).await?;
        match answer.status {
            status if status.is_success() => Ok(answer),
            // The command's own values are wrong: it built the rest of the request.
            StatusCode::BAD_REQUEST => Err(Error { kind: Kind::Usage, ..refusal::error(self, path, &answer) }),
            _ => Err(refusal::error(self, path, &answer)),
        }
    }

    /// The same, and waits as long as a limit of the server asks for, which it says.
    pub(crate) async fn send_patiently(
        &self,
        method: Method,
        path: &str,
        build: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Result<RawAnswer> {
        loop {
            let answer = self.raw(method.clone(), path, &build).await?;
            let wait = retry::wait_asked(&answer, true).filter(|wait| *wait <= LONGEST_LIMIT);
            match wait.filter(|_| answer.status == StatusCode::TOO_MANY_REQUESTS) {
                Some(wait) => {
                    if !self.is_quiet {
                        let minutes = wait.as_secs().div_ceil(60);
                        let unit = if minutes == 1 { "minute" } else { "minutes" };
                        let why = refusal::error(self, path, &answer).what;
                        terminal::line(&format!("{} takes no more for now ({}); going on in {minutes} {unit}.", self.url, plain(&why)));
                    }
                    clock::wait(wait).await;
                }
                None if answer.status.is_success() => return Ok(answer),
                None => return Err(refusal::error(self, path, &answer)),
            }
        }
    }

    /// Sends a request, with retries. Any status is an answer; errors are failures of the network.
    pub(crate) async fn raw(
        &self,
        method: Method,
        path: &str,
        build: impl Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Result<RawAnswer> {
        let url = format!("{}{path}", self.url);
        retry::send(self, || {
            let mut request = self.http.request(method.clone(), &url);
            if let Some(credential) = &self.credential {
                request = request.bearer_auth(&credential.secret);
            }
            build(request)
        })
        .await
    }

    /// The error that an answer of [`Client::raw`] without success means.
    pub(crate) fn refusal(&self, path: &str, answer: &RawAnswer) -> Error {
        refusal::error(self, path, answer)
    }

    /// Reads a successful answer's JSON. Errors: unreachable (6) if it is not what this CLI knows.
    pub(crate) fn read<T: DeserializeOwned>(&self, answer: &RawAnswer) -> Result<Answer<T>> {
        let json: Value = serde_json::from_slice(&answer.body).map_err(|_| self.unknown_answer())?;
        let value = serde_json::from_value(json.clone()).map_err(|_| self.unknown_answer())?;
        Ok(Answer { value, json })
    }

    fn unknown_answer(&self) -> Error {
        let next = "Run `updraft doctor`: it compares the versions of server and CLI, and checks the URL.";
        Error::new(Kind::Unreachable, format!("{} sent an answer that this CLI does not understand", self.url), next)
    }
}

/// How long the server may be silent. Errors: usage (2).
fn patience() -> Result<Duration> {
    let Some(given) = std::env::var(TIMEOUT).ok().filter(|value| !value.is_empty()) else { return Ok(PATIENCE) };
    match given.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::usage(format!("{TIMEOUT} is {given}"), "Set it to a whole number of seconds, 1 or more, or unset it.")),
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}
