//! The endpoints for devices, served natively: update checks, reports and bundles.
//!
//! `shared` defines responses and headers, so that the edge's are the same. [`FastPath`] answers most checks before the router; direct reports go
//! through [`Collector`]. How reports are counted is in [`crate::domain::counting`]. Start reading at [`routes`].

mod bundle;
pub mod collector;
pub mod document;
mod fast_path;
mod http;
mod suspects;
mod verified;

pub use collector::Collector;
pub use fast_path::FastPath;
pub use suspects::Suspects;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::wire::headers;

use crate::http::AppState;
use crate::http::layer::problem;

/// The routes of this area.
pub fn routes() -> Router<AppState> {
    http::routes().merge(bundle::routes())
}

/// The 204 for OPTIONS; `methods` are the path's.
fn preflight(methods: &'static str) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    put(response.headers_mut(), &prepared(headers::preflight(methods)));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// The 405; `methods` are the path's.
fn wrong_method(methods: &'static str) -> Response {
    let mut response = problem::wrong_method();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// Converts the headers of `shared` into a header map. Called once per path where responses are frequent.
fn prepared<V: AsRef<str>>(headers: Vec<(&'static str, V)>) -> HeaderMap {
    let pairs = headers.into_iter().filter_map(|(name, value)| {
        // Names and values are constants of `shared`, all of them valid.
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value.as_ref()).ok()?))
    });
    pairs.collect()
}

/// Sets headers, replacing existing ones of the same name.
fn put(to: &mut HeaderMap, headers: &HeaderMap) {
    for (name, value) in headers {
        to.insert(name.clone(), value.clone());
    }
}
