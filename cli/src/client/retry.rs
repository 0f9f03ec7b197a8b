//! Repeats requests: with growing delays, and as the server asks in `Retry-After`.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::{Method, StatusCode, header};

use super::upload::SLOWEST;
use super::{Client, RawAnswer, TIMEOUT};
use crate::clock;
use crate::error::{Error, Kind, Result};
use crate::output::{interrupt, terminal};

/// How often a request is sent at most.
const ATTEMPTS: u32 = 5;
/// The longest wait that `Retry-After` can cause. Beyond it, the refusal is reported.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// After how long a silent server is worth a message.
const NOTICE: Duration = Duration::from_secs(2);

/// The longest answer. No list of the API comes near it; something else on the way may never end.
const MAX_ANSWER: usize = 64_000_000;

/// Why there is no answer.
#[derive(Debug)]
enum Failure {
    /// The network failed.
    Network(reqwest::Error),
    /// The answer is longer than [`MAX_ANSWER`].
    TooLong,
    /// Nothing came for this long.
    Silent(Duration),
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self::Network(error)
    }
}

/// Sends a request until it has an answer that does not ask for a repetition.
pub(super) async fn send(client: &Client, build: impl Fn() -> reqwest::RequestBuilder) -> Result<RawAnswer> {
    for attempt in 1.. {
        let request = build().build().map_err(|error| Error::failed(format!("cannot build the request: {error}"), "Check the options."))?;
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_repeatable = is_read || client.repeats_all || request.headers().contains_key("Idempotency-Key");
        let shown = format!("{} {}", request.method(), request.url());
        let step = (!is_read).then(|| interrupt::step("the server may have done it", "Look before you run the command again."));
        let result = receive(client, request).await;
        drop(step);
        if client.is_verbose {
            let outcome = match &result {
                Ok(answer) => {
                    let id = answer.headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or("-");
                    format!("{} (request {id})", answer.status)
                }
                Err(Failure::Network(error)) => error.to_string(),
                Err(Failure::TooLong) => "the answer is too long".to_owned(),
                Err(Failure::Silent(limit)) => format!("nothing within {} s", limit.as_secs()),
            };
            terminal::line(&terminal::stderr_style().dim(&format!("{shown} → {outcome}")));
        }
        let backoff = Duration::from_millis(250) * 2_u32.saturating_pow(attempt);
        let delay = match &result {
            Ok(answer) => wait_asked(answer, is_repeatable).or_else(|| is_lost(answer, is_repeatable).then_some(backoff)),
            Err(Failure::Network(error)) if error.is_connect() || is_repeatable => Some(backoff),
            Err(_) => None,
        };
        match (result, delay) {
            (_, Some(delay)) if attempt < ATTEMPTS && delay <= LONGEST_WAIT => {
                if !client.is_quiet && delay > Duration::from_secs(1) {
                    terminal::line(&format!("{} is busy or unreachable; trying again in {} s", client.url(), delay.as_secs()));
                }
                clock::wait(delay).await;
            }
            (Ok(answer), _) => return Ok(answer),
            (Err(Failure::Network(error)), _) => return Err(unreachable(client, &error, is_read)),
            (Err(Failure::TooLong), _) => {
                let what = format!("{} sent an answer of more than {} MB", client.url(), MAX_ANSWER / 1_000_000);
                return Err(Error::new(Kind::Unreachable, what, "Check that the URL is that of an Updraft server: `updraft doctor`."));
            }
            (Err(Failure::Silent(limit)), _) => return Err(silent(client, limit, is_read)),
        }
    }
    // The loop above ends only by returning.
    Err(Error::failed("the request was not sent", "Try again."))
}

async fn receive(client: &Client, request: reqwest::Request) -> Result<RawAnswer, Failure> {
    // The limit is for the answer: a body that takes long to send has its own time.
    let length = request.body().and_then(reqwest::Body::as_bytes).map_or(0, |bytes| bytes.len() as u64);
    let patience = client.patience.map(|patience| patience + Duration::from_secs(length / SLOWEST));
    let mut response = heard(client, patience, client.http.execute(request)).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = BytesMut::new();
    while let Some(chunk) = heard(client, patience, response.chunk()).await? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(Failure::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(RawAnswer { status, headers, body: body.freeze() })
}

/// Waits for something from the server, and says so on a terminal if that takes long. Errors: also silent after `patience`.
async fn heard<T>(client: &Client, patience: Option<Duration>, answer: impl Future<Output = reqwest::Result<T>>) -> Result<T, Failure> {
    let Some(patience) = patience else { return Ok(answer.await?) };
    let mut answer = pin!(answer);
    if let Some(answer) = clock::within(NOTICE.min(patience), &mut answer).await {
        return Ok(answer?);
    }
    let left = patience.saturating_sub(NOTICE);
    if !left.is_zero() && !client.is_quiet && terminal::is_error() && !client.has_said_waiting.swap(true, Ordering::Relaxed) {
        terminal::line(&format!("Waiting for {} …", client.url()));
    }
    clock::within(left, answer).await.ok_or(Failure::Silent(patience))?.map_err(Failure::Network)
}

/// How long to wait before a repetition, if the answer asks for one. 429 means that nothing was done; after 503, a change can have been done.
pub(super) fn wait_asked(answer: &RawAnswer, is_repeatable: bool) -> Option<Duration> {
    let is_asked = match answer.status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => is_repeatable,
        _ => false,
    };
    if !is_asked {
        return None;
    }
    // A quota is also 429, but waiting does not help: it has no `Retry-After`.
    answer.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Whether something on the way answered instead of the server, whose answer is lost.
fn is_lost(answer: &RawAnswer, is_repeatable: bool) -> bool {
    is_repeatable && matches!(answer.status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT)
}

fn unreachable(client: &Client, error: &reqwest::Error, is_read: bool) -> Error {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), innermost);
    if error.is_connect() {
        let next = "Check the URL and your network; `updraft doctor` tests both.";
        return Error::new(Kind::Unreachable, format!("cannot connect to {}: {cause}", client.url()), next);
    }
    let next = if is_read {
        "Check your network, then run the command again."
    } else {
        "The server may have done it: look before you run the command again."
    };
    Error::new(Kind::Unreachable, format!("the connection to {} broke: {cause}", client.url()), next)
}

fn silent(client: &Client, limit: Duration, is_read: bool) -> Error {
    let next = if is_read {
        format!("Try again later. `updraft doctor` checks the server; {TIMEOUT} sets how many seconds to wait.")
    } else {
        format!("The server may have done it: look before you run the command again. {TIMEOUT} sets how many seconds to wait.")
    };
    Error::new(Kind::Unreachable, format!("{} did not answer within {} s", client.url(), limit.as_secs()), next)
}

/// The first cause, which says the most.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
