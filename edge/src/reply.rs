//! Responses that the edge creates itself, with the headers for each kind of path, and errors in the error envelope.

use std::borrow::Cow;

use serde_json::json;
use shared::ids::RequestId;
use shared::wire::headers;
use shared::wire::path::Endpoint;
use shared::wire::problem::{Problem, WRONG_METHOD, WRONG_RANGE};
use wasm_bindgen::JsValue;
use worker::web_sys;

use crate::log;
use crate::route::Route;

/// The set of headers that a response has in addition to the common ones.
#[derive(Clone, Debug)]
pub(crate) enum HeaderSet {
    /// For acquisition paths: CORS, and deprecation of old paths.
    Acquisition(Endpoint),
    /// For bundle paths: CORS.
    Bundle,
    /// For everything else: no CORS.
    Plain,
}

impl HeaderSet {
    /// The set for a route.
    pub(crate) fn of(route: &Route<'_>) -> Self {
        match route {
            Route::Check(endpoint) | Route::Report(endpoint) => Self::Acquisition(*endpoint),
            Route::Bundle(_) => Self::Bundle,
            Route::Internal | Route::Control => Self::Plain,
        }
    }
}

/// Why a request fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client's error, or an unavailable service: returned as is.
    Refused(Refusal),
    /// An unexpected error: logged, answered with 500.
    Broken(worker::Error),
}

/// An error response: a status and the message for the envelope.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    error: Cow<'static, str>,
    /// A header that belongs to this status.
    header: Option<(&'static str, Cow<'static, str>)>,
}

impl Refusal {
    pub(crate) fn new(status: u16, error: impl Into<Cow<'static, str>>) -> Self {
        Self { status, error: error.into(), header: None }
    }

    /// 405 with the allowed methods.
    pub(crate) fn wrong_method(allow: &'static str) -> Self {
        Self { status: 405, error: WRONG_METHOD.into(), header: Some(("allow", allow.into())) }
    }

    /// 503: a service is unavailable or rate limited; the client may retry after `retry_after` seconds.
    pub(crate) fn unavailable(error: &'static str, retry_after: u32) -> Self {
        Self { status: 503, error: error.into(), header: Some(("retry-after", retry_after.to_string().into())) }
    }

    /// 429: the client may retry after `retry_after` seconds.
    pub(crate) fn too_many(error: &'static str, retry_after: u64) -> Self {
        Self { status: 429, error: error.into(), header: Some(("retry-after", retry_after.to_string().into())) }
    }

    /// 416 with the object's size.
    pub(crate) fn unsatisfiable(size: u64) -> Self {
        Self { status: 416, error: WRONG_RANGE.into(), header: Some(("content-range", format!("bytes */{size}").into())) }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<worker::Error> for Failure {
    fn from(error: worker::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<JsValue> for Failure {
    fn from(thrown: JsValue) -> Self {
        Self::Broken(worker::Error::from(thrown))
    }
}

/// What all responses to a request have in common.
pub(crate) struct Reply<'r> {
    pub(crate) request_id: &'r RequestId,
    pub(crate) is_https: bool,
    /// For HEAD: no body, but its length in `Content-Length`.
    pub(crate) is_head: bool,
    pub(crate) header_set: HeaderSet,
}

impl Reply<'_> {
    /// 200 with a JSON body.
    pub(crate) fn json(&self, body: &str) -> Result<web_sys::Response, Failure> {
        Ok(self.respond(200, &self.headers()?, body)?)
    }

    /// 204 for OPTIONS; `methods` are those of the path.
    pub(crate) fn preflight(&self, methods: &'static str) -> Result<web_sys::Response, Failure> {
        let headers = self.common()?;
        for (name, value) in headers::preflight(methods) {
            headers.set(name, &value)?;
        }
        headers.set("allow", methods)?;
        Ok(stream(204, &headers, None)?)
    }

    /// The error envelope. Unexpected errors are logged here; their cause is not sent to the client.
    pub(crate) fn failure(&self, failure: Failure) -> Result<web_sys::Response, JsValue> {
        let refusal = match failure {
            Failure::Refused(refusal) => refusal,
            Failure::Broken(error) => {
                log::event("request.failed", json!({"request": self.request_id.as_str(), "error": error.to_string()}));
                Refusal::new(500, "internal error")
            }
        };
        let headers = self.headers()?;
        if let Some((name, value)) = &refusal.header {
            headers.set(name, value)?;
        }
        let problem = Problem { error: &refusal.error, request_id: self.request_id.as_str(), code: None, retry_after_seconds: None };
        self.respond(refusal.status, &headers, &problem.to_json())
    }

    fn respond(&self, status: u16, headers: &web_sys::Headers, body: &str) -> Result<web_sys::Response, JsValue> {
        if self.is_head {
            headers.set("content-length", &body.len().to_string())?;
            return stream(status, headers, None);
        }
        let init = web_sys::ResponseInit::new();
        init.set_status(status);
        init.set_headers(headers);
        web_sys::Response::new_with_opt_str_and_init(Some(body), &init)
    }

    /// The headers of a bundle response whose URL expires in `expires_in` milliseconds.
    pub(crate) fn bundle_headers(&self, expires_in: i64) -> Result<web_sys::Headers, JsValue> {
        let headers = self.common()?;
        for (name, value) in headers::bundle(expires_in) {
            headers.set(name, &value)?;
        }
        Ok(headers)
    }

    /// The headers of a JSON response.
    fn headers(&self) -> Result<web_sys::Headers, JsValue> {
        let headers = self.common()?;
        match &self.header_set {
            HeaderSet::Acquisition(endpoint) => {
                for (name, value) in headers::acquisition(endpoint) {
                    headers.set(name, &value)?;
                }
            }
            HeaderSet::Bundle => {
                headers.set("content-type", "application/json")?;
                for (name, value) in headers::preflight(headers::BUNDLE_METHODS) {
                    headers.set(name, &value)?;
                }
            }
            HeaderSet::Plain => {
                headers.set("content-type", "application/json")?;
                headers.set("cache-control", "no-store")?;
                headers.set("x-content-type-options", "nosniff")?;
            }
        }
        Ok(headers)
    }

    /// The headers of every response.
    fn common(&self) -> Result<web_sys::Headers, JsValue> {
        let headers = web_sys::Headers::new()?;
        headers.set("x-request-id", self.request_id.as_str())?;
        if self.is_https {
            headers.set("strict-transport-security", headers::HSTS)?;
        }
        Ok(headers)
    }
}

/// A response with a stream as its body, or without a body.
pub(crate) fn stream(
    status: u16,
    headers: &web_sys::Headers,
    body: Option<&web_sys::ReadableStream>,
) -> Result<web_sys::Response, JsValue> {
    let init = web_sys::ResponseInit::new();
    init.set_status(status);
    init.set_headers(headers);
    web_sys::Response::new_with_opt_readable_stream_and_init(body, &init)
}
