//! Deploy and download reports: validated, stamped, put into the Queue. Only what the Queue has confirmed is answered 200.

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

/// Longer than the Queue's slowest usual answer by far. One that comes later than this may be kept twice, since the client sends it again:
/// counting takes that, and losing it would be worse.
const QUEUE_MOST: Duration = Duration::from_secs(10);

/// Takes in one report.
pub(crate) async fn take(call: &Call<'_>, reply: &Reply<'_>, endpoint: &Endpoint) -> Result<web_sys::Response, Failure> {
    let body = json_body(call.request).await?;
    let new = parse_report(endpoint.job, &body).map_err(|fault| Refusal::new(400, fault.to_string()))?;
    admit(call, new.deployment_key.as_str())?;
    store::snapshot(call, &new.deployment_key).await?;
    let report = Report { id: ReportId::v7(call.now, env::dice()?), received: call.now, report: new };
    let unqueued = match control::within(QUEUE_MOST, send(call, &report)).await {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some(control::no_answer(QUEUE_MOST)),
    };
    if let Some(error) = unqueued {
        log::event("report.not_queued", json!({"request": call.request_id.as_str(), "error": error}));
        return Err(Refusal::unavailable("the report cannot be kept at the moment", 30).into());
    }
    reply.json(REPORT_OK)
}

thread_local! {
    static REPORTERS: RefCell<Limiter> = RefCell::new(Limiter::default());
    /// Of its own, as its window may be of another length.
    static ADDRESSES: RefCell<Limiter> = RefCell::new(Limiter::default());
}

/// Counts the report for its client's address, and for that and its deployment, in this isolate. Those whose address nobody's word says count together.
fn admit(call: &Call<'_>, deployment_key: &str) -> Result<(), Failure> {
    let (address, now) = (address::of(call.request, call.settings)?.map(|address| address.number), call.now.as_millis());
    let admit = |limiter: &mut Limiter, what: &str, rate| match address {
        Some(address) => limiter.admit_address(address, what, rate, now),
        None => limiter.admit(what, rate, now),
    };
    REPORTERS
        .with_borrow_mut(|reporters| admit(reporters, deployment_key, call.settings.report_rate))
        .and_then(|()| ADDRESSES.with_borrow_mut(|addresses| admit(addresses, "", call.settings.address_report_rate)))
        .map_err(|seconds| Refusal::too_many(TOO_MANY_REPORTS, seconds).into())
}

/// As text: the crate's own JSON would arrive as `{}`, because it passes maps as JavaScript's `Map`.
async fn send(call: &Call<'_>, report: &Report) -> Result<(), worker::Error> {
    let message = RawMessageBuilder::new(JsValue::from_str(&report.to_text())).build_with_content_type(QueueContentType::Text);
    call.env.queue(env::REPORTS)?.send_raw(message).await
}

/// The longest body that is read although it is too large, in bytes.
const MOST_UNWANTED: usize = 64 << 10;

/// The whole body of a JSON request: 413 when it is too large, 415 when there is one that says it is something else. No stated type counts
/// as JSON.
async fn json_body(request: &web_sys::Request) -> Result<Vec<u8>, Failure> {
    let headers = request.headers();
    let body = match (headers.get("content-length")?.and_then(|length| length.parse::<usize>().ok()), request.body()) {
        (Some(length), stream) if length > MAX_JSON_BODY => {
            // A connection on which a body was not read to its end is closed, and whoever still sends may never see the answer.
            if stream.is_some() && length <= MOST_UNWANTED {
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
