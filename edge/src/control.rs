//! Calls to control: raw fetch, timeouts, signed internal calls.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use shared::signature;
use wasm_bindgen::JsCast;
use worker::js_sys::futures::JsFuture;
use worker::{Delay, js_sys, web_sys};

use crate::body;
use crate::env::{self, Settings};

/// The header of a signed internal call.
const CALL_SIGNATURE: &str = "x-updraft-signature";
/// Slightly above KV's limit of 25 MiB: no snapshot is larger, and any other large response must not fill the isolate.
const MAX_ANSWER_BYTES: usize = 26 << 20;

/// Control's response to an internal call.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The value of `Retry-After` in seconds, if any.
    pub(crate) retry_after: Option<u32>,
    pub(crate) body: Vec<u8>,
}

/// Fetches and returns the response untouched: status, headers and stream are the runtime's own.
pub(crate) async fn fetch(request: &web_sys::Request) -> Result<web_sys::Response, worker::Error> {
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_request(request)).await?;
    Ok(response.dyn_into()?)
}

/// The result of `work`, or `None` after `timeout`: a service that hangs must not hang a client.
pub(crate) async fn within<T>(timeout: Duration, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), pin!(Delay::from(timeout))).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(((), _)) => None,
    }
}

/// Makes a signed call to one of control's internal paths. The error is a log message that says why control is unreachable.
pub(crate) async fn call(settings: &Settings, method: &str, path: &str, body: Option<&str>, timeout: Duration) -> Result<Answer, String> {
    match within(timeout, send(settings, method, path, body)).await {
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err(no_answer(timeout)),
    }
}

/// The log message for a timeout of [`within`].
pub(crate) fn no_answer(timeout: Duration) -> String {
    format!("no answer within {} ms", timeout.as_millis())
}

async fn send(settings: &Settings, method: &str, path: &str, text: Option<&str>) -> Result<Answer, worker::Error> {
    let init = web_sys::RequestInit::new();
    init.set_method(method);
    // A redirect would send the reports elsewhere, so it counts as a failure.
    init.set_redirect(web_sys::RequestRedirect::Manual);
    if let Some(text) = text {
        init.set_body(&text.into());
    }
    let request = web_sys::Request::new_with_str_and_init(&format!("{}{path}", settings.control_url), &init)?;
    let signature = signature::sign_call(&settings.edge_secrets, method, path, env::now(), text.unwrap_or_default().as_bytes());
    request.headers().set(CALL_SIGNATURE, &signature)?;
    if text.is_some() {
        request.headers().set("content-type", "application/json")?;
    }
    let response = fetch(&request).await?;
    let retry_after = response.headers().get("retry-after")?.and_then(|seconds| seconds.trim().parse().ok());
    let body = match response.body() {
        Some(stream) => body::read_at_most(&stream, MAX_ANSWER_BYTES).await?,
        None => Some(Vec::new()),
    };
    let body = body.ok_or_else(|| worker::Error::RustError(format!("the response has more than {MAX_ANSWER_BYTES} bytes")))?;
    Ok(Answer { status: response.status(), retry_after, body })
}
