//! The layers around every handler: request id, error envelope, security headers, client address; and the connections below.
//!
//! Extractors are in [`crate::http::extract`]. There are no business rules here. Start reading at [`layer`].

pub mod client_address;
pub mod connections;
mod envelope;
mod linger;
pub mod problem;

pub(crate) use client_address::claims_client_address;
pub use envelope::{RequestIdHeader, not_found, wrong_method};
pub(crate) use envelope::{finish, headers_of_all, panicked};

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware;
use tower::util::MapRequest;
use tower_http::catch_panic::CatchPanicLayer;

use crate::http::AppState;

/// The path and query as the client sent them, with trailing slashes. Signatures cover this form.
#[derive(Clone, Debug)]
pub struct SentPath(pub PathAndQuery);

/// The router with all layers.
pub type Service = MapRequest<Router, fn(Request) -> Request>;

/// Adds the layers to the router.
pub fn layer(router: Router, state: &AppState) -> Service {
    let router = router
        .layer(middleware::from_fn_with_state(state.clone(), client_address::middleware))
        .layer(CatchPanicLayer::custom(envelope::panicked))
        .layer(middleware::from_fn_with_state(state.clone(), envelope::middleware));
    MapRequest::new(router, trim_trailing_slashes as fn(Request) -> Request)
}

/// Removes trailing slashes, which every path accepts.
fn trim_trailing_slashes(mut request: Request) -> Request {
    // Cheap: a handle to the same bytes.
    let sent = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let path = request.uri().path();
    let trimmed = path.trim_end_matches('/');
    if trimmed.len() < path.len() {
        let path = if trimmed.is_empty() { "/" } else { trimmed };
        let target = match request.uri().query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        if let Ok(target) = target.parse::<PathAndQuery>() {
            let mut parts = request.uri().clone().into_parts();
            parts.path_and_query = Some(target);
            if let Ok(uri) = Uri::from_parts(parts) {
                *request.uri_mut() = uri;
            }
        }
    }
    request.extensions_mut().insert(SentPath(sent));
    request
}
