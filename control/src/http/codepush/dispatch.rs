//! Decides which requests are of the dialect, and gives them the paths of its routes.

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::Request;
use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::future::RouteFuture;

use crate::http::AppState;
use crate::http::reserved;

/// Everything below the layers: the dialect, and the rest of the service.
#[derive(Clone, Debug)]
pub struct Dispatch {
    dialect: Router,
    rest: Router,
    /// Whether the dashboard's pages are at the root. Its paths are the dialect's there only for requests of a command-line client.
    has_pages_at_root: bool,
}

impl Dispatch {
    /// Puts the dialect in front of the rest of the service. `has_pages_at_root`: whether the dashboard's address has no path.
    pub fn new(state: &AppState, rest: Router, has_pages_at_root: bool) -> Self {
        Self { dialect: super::router(state), rest, has_pages_at_root }
    }

    /// The path of the dialect's route, if the request is of the dialect.
    fn target(&self, request: &Request) -> Option<PathAndQuery> {
        let (path, query) = (request.uri().path(), request.uri().query());
        let mut segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let is_of_api = segments.first().is_some_and(|first| first.eq_ignore_ascii_case("v1"));
        if is_of_api {
            segments.remove(0);
        }
        if !segments.first().is_some_and(|first| reserved::is_of_codepush(first)) {
            return None;
        }
        if (is_of_api || self.has_pages_at_root) && !is_of_client(request.headers()) {
            return None;
        }
        // Names are in every other segment; the rest is fixed, and in any case.
        let parts = segments.into_iter().enumerate().map(|(place, segment)| match place % 2 {
            0 => segment.to_ascii_lowercase(),
            _ => segment.to_owned(),
        });
        let path: String = parts.flat_map(|part| ["/".to_owned(), part]).collect();
        let target = query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
        target.parse().ok()
    }
}

/// Whether a command-line client of CodePush sent the request.
fn is_of_client(headers: &HeaderMap) -> bool {
    let accepts =
        |value: &header::HeaderValue| value.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("application/vnd.code-push"));
    headers.contains_key("x-codepush-cli-version") || headers.get_all(header::ACCEPT).iter().any(accepts)
}

impl tower::Service<Request> for Dispatch {
    type Response = Response;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let Some(target) = self.target(&request) else { return self.rest.call(request) };
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(target);
        // An address with another valid path is valid.
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        self.dialect.call(request)
    }
}
