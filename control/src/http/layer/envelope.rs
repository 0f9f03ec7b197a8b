//! The outermost layer: creates the request id, writes the error envelope, and sets the headers of every response.

use std::any::Any;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use shared::ids::RequestId;
use shared::wire::headers::HSTS;
use shared::wire::problem::Problem;

use super::{client_address, linger};
use crate::domain::error::{Code, Error, Refusal, Thing};
use crate::http::AppState;
use crate::http::layer::problem::{self, FailureCause, OwnBody, ProblemText};

/// `X-Request-Id`.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the current request, as an extension.
#[derive(Clone, Debug)]
pub struct RequestIdHeader(pub RequestId);

/// Runs the request and completes its response.
pub(crate) async fn middleware(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let id = new_id(&app);
    request.extensions_mut().insert(RequestIdHeader(id.clone()));
    // Only the body of a request signed by the edge is read to its end before a refusal. A header without a valid signature has no effect.
    let signed = client_address::signed(&app, &request);
    let is_of_edge = signed.is_some();
    if let Some(address) = signed {
        request.extensions_mut().insert(address);
    }
    let (request, rest) = linger::watch(request);
    let mut response = next.run(request).await;
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    let is_unread = match (is_refusal, is_of_edge) {
        (false, _) => false,
        (true, false) => rest.discard_in_background(),
        (true, true) => rest.discard().await,
    };
    if is_unread {
        // Without this header a client would send its next request on this connection, where nobody reads it.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    complete(&app, &id, response)
}

/// Completes a response that was created outside this layer.
pub(crate) fn finish(app: &AppState, response: Response) -> Response {
    complete(app, &new_id(app), response)
}

fn new_id(app: &AppState) -> RequestId {
    // Every response needs an id. If the operating system provides no randomness, an id from the time alone keeps the envelope valid.
    app.request_id().unwrap_or_else(|_| RequestId::v7(app.now(), [0; 10]))
}

/// The headers of every response as raw text, for the responses that the HTTP library writes itself.
pub(crate) fn headers_of_all(app: &AppState) -> String {
    let id = new_id(app);
    let hsts = if app.settings.is_https() { format!("strict-transport-security: {HSTS}\r\n") } else { String::new() };
    format!("x-request-id: {}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n{hsts}", id.as_str())
}

fn complete(app: &AppState, id: &RequestId, mut response: Response) -> Response {
    if let Some(FailureCause(cause)) = response.extensions_mut().remove::<FailureCause>() {
        tracing::error!(request.id = id.as_str(), status = response.status().as_u16(), cause, "a request failed");
    }
    if let Some(ProblemText { text, refusal, retry_after_seconds }) = problem_text(&mut response) {
        let code = refusal.as_ref().and_then(Refusal::code).map(Code::as_str);
        let body = Problem { error: &text, request_id: id.as_str(), code, retry_after_seconds }.to_json();
        *response.body_mut() = Body::from(body);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if app.settings.is_https() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    response
}

/// The text of a refusal: the handler's, or the status's reason if a library refused the request.
fn problem_text(response: &mut Response) -> Option<ProblemText> {
    if let Some(problem) = response.extensions_mut().remove::<ProblemText>() {
        return Some(problem);
    }
    if response.extensions().get::<OwnBody>().is_some() {
        return None;
    }
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    // Pages have their own error texts.
    let has_own_form = |kind: &HeaderValue| [&b"application/json"[..], b"text/html"].iter().any(|own| kind.as_bytes().starts_with(own));
    let is_own = response.headers().get(header::CONTENT_TYPE).is_some_and(has_own_form);
    let plain = || ProblemText::from(status.canonical_reason().unwrap_or("the request was refused").to_lowercase().as_str());
    (refused && !is_own).then(plain)
}

/// The 500 after a panic. The panic hook logs the message; the client never sees it.
pub(crate) fn panicked(_panic: Box<dyn Any + Send + 'static>) -> Response {
    let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    response.extensions_mut().insert(FailureCause("the handler panicked".to_owned()));
    response.extensions_mut().insert(ProblemText::from("internal error"));
    response
}

/// The 404 for an unknown path.
pub async fn not_found() -> Error {
    Error::NotFound(Thing::Path)
}

/// The 405 for a known path with another method.
pub async fn wrong_method() -> Response {
    problem::wrong_method()
}
