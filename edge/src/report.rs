//! Deploy and download reports: validated, given an ID and time, and put into the Queue. The response is 200 only after the Queue has confirmed.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::json;
use shared::ids::ReportId;
use shared::limit::Limiter;
use shared::report::Report;
use shared::wire::path::Endpoint;
use shared::wire::problem::{self, TOO_MANY_REPORTS, WRONG_TYPE};
use shared::wire::report::{MAX_JSON_BODY, REPORT_OK, is_json, parse_report};
use wasm_bindgen::JsValue;
use worker::js_sys::futures::JsFuture;
use worker::{QueueContentType, RawMessageBuilder, js_sys, web_sys};

use crate::Call;
use crate::address;
use crate::body;
use crate::control;
use crate::env;
use crate::log;
use crate::reply::{Failure, Refusal, Reply};
use crate::store;

/// Far longer than the Queue's slowest usual response. A report that is confirmed later may be queued twice, since the client sends it again.
/// Counting handles duplicates; losing a report would be worse.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// Accepts a report.
pub(crate) async fn take(call: &Call<'_>, reply: &Reply<'_>, endpoint: &Endpoint) -> Result<web_sys::Response, Failure> {
    let body = json_body(call.request).await?;
    let new = parse_report(endpoint.job, &body).map_err(|fault| Refusal::new(400, fault.to_string()))?;
    count(call, new.deployment_key.as_str())?;
    if store::snapshot_or_tombstone(call, &new.deployment_key).await?.is_tombstone() {
        // An SDK keeps a refused report and sends it again at every start.
        return reply.json(REPORT_OK);
    }
    let report = Report { id: ReportId::v7(call.now, env::entropy()?), received: call.now, report: new };
    let unqueued = match control::within(QUEUE_TIMEOUT, send(call, &report)).await {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some(control::no_answer(QUEUE_TIMEOUT)),
    };
    if let Some(error) = unqueued {
        log::event("report.not_queued", json!({"request": call.request_id.as_str(), "error": error}));
        return Err(Refusal::unavailable("the report cannot be stored at the moment", 30).into());
    }
    reply.json(REPORT_OK)
}

thread_local! {
    static REPORTERS: RefCell<Limiter> = RefCell::new(Limiter::default());
    /// Separate, because its window may have a different length.
    static ADDRESSES: RefCell<Limiter> = RefCell::new(Limiter::default());
}

/// Counts the report in this isolate, per client address and per address and deployment. Reports without a trusted address count together.
fn count(call: &Call<'_>, deployment_key: &str) -> Result<(), Failure> {
    let (address, now) = (address::of(call.request, call.settings)?.map(|address| address.number), call.now.as_millis());
    let count = |limiter: &mut Limiter, what: &str, rate| match address {
        Some(address) => limiter.acquire_for_address(address, what, rate, now),
        None => limiter.acquire(what, rate, now),
    };
    REPORTERS
        .with_borrow_mut(|reporters| count(reporters, deployment_key, call.settings.report_rate))
        .and_then(|()| ADDRESSES.with_borrow_mut(|addresses| count(addresses, "", call.settings.address_report_rate)))
        .map_err(|seconds| Refusal::too_many(TOO_MANY_REPORTS, seconds).into())
}

/// Sends the report as text: the crate's own JSON would arrive as `{}`, because it passes maps as JavaScript's `Map`.
async fn send(call: &Call<'_>, report: &Report) -> Result<(), worker::Error> {
    let message = RawMessageBuilder::new(JsValue::from_str(&report.to_text())).build_with_content_type(QueueContentType::Text);
    call.env.queue(env::REPORTS)?.send_raw(message).await
}

/// The maximum size of an oversized body that is still read to its end, in bytes.
const MAX_DISCARDED: usize = 64 << 10;

/// Reads the whole body of a JSON request: 413 if it is too large, 415 if there is a body with another content type. No content type counts as
/// JSON.
async fn json_body(request: &web_sys::Request) -> Result<Vec<u8>, Failure> {
    let headers = request.headers();
    let body = match (headers.get("content-length")?.and_then(|length| length.parse::<usize>().ok()), request.body()) {
        (Some(length), stream) if length > MAX_JSON_BODY => {
            // The runtime closes a connection whose body was not read to its end, and a client that is still sending may never see the response.
            if stream.is_some() && length <= MAX_DISCARDED {
                drop(JsFuture::from(request.array_buffer()?).await);
            }
            return Err(too_large());
        }
        // The runtime reads no more than the stated length.
        (Some(_), Some(_)) => js_sys::Uint8Array::new(&JsFuture::from(request.array_buffer()?).await?).to_vec(),
        (None, Some(stream)) => body::read_at_most(&stream, MAX_JSON_BODY).await?.ok_or_else(too_large)?,
        (_, None) => Vec::new(),
    };
    if !body.is_empty() && headers.get("content-type")?.is_some_and(|stated| !is_json(&stated)) {
        return Err(Refusal::new(415, WRONG_TYPE).into());
    }
    Ok(body)
}

fn too_large() -> Failure {
    Refusal::new(413, problem::too_large(MAX_JSON_BODY)).into()
}
