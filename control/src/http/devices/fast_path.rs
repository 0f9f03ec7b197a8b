//! The fast path for update checks: answered before the router and the layers around it, which cost more than the check.
//!
//! Only plain checks take it: GET, exactly a path of the table, no body, and no client address from the edge. Everything else goes through the router
//! and the layers, where the same function answers. A test compares the answers of both.

use std::collections::HashMap;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either};
use shared::wire::headers;
use shared::wire::path::{self, Endpoint, Job};

use super::http::{check_for_update, dress};
use super::prepared;
use crate::http::AppState;
use crate::http::layer as web;

/// The whole service: the fast path in front of the router.
#[derive(Clone, Debug)]
pub struct FastPath {
    app: AppState,
    checks: Arc<HashMap<String, Arc<Check>>>,
    full: web::Service,
}

/// An update check's path.
#[derive(Debug)]
struct Check {
    endpoint: Endpoint,
    headers: HeaderMap,
}

impl FastPath {
    /// Puts the fast path in front of `full`.
    pub fn new(app: AppState, full: web::Service) -> Self {
        let checks = path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::Check);
        let checks =
            checks.map(|(path, endpoint)| (path, Arc::new(Check { endpoint, headers: prepared(headers::acquisition(&endpoint)) })));
        Self { app, checks: Arc::new(checks.collect()), full }
    }

    /// The check of the request's path, if the request may take the fast path.
    fn check(&self, request: &Request) -> Option<Arc<Check>> {
        let is_plain = *request.method() == Method::GET && request.body().is_end_stream() && !web::claims_client_address(request.headers());
        self.checks.get(request.uri().path()).filter(|_| is_plain).cloned()
    }
}

impl tower::Service<Request> for FastPath {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<BoxFuture<'static, Result<Response, Infallible>>, <web::Service as tower::Service<Request>>::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        tower::Service::<Request>::poll_ready(&mut self.full, context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(check) = self.check(&request) else { return Either::Right(self.full.call(request)) };
        let (app, uri) = (self.app.clone(), request.into_parts().0.uri);
        let answer = async move {
            let checking = check_for_update(&app, &check.endpoint, uri.query().unwrap_or_default());
            let response = match AssertUnwindSafe(checking).catch_unwind().await {
                Ok(answer) => dress(&check.headers, answer),
                Err(panic) => web::panicked(panic),
            };
            Ok(web::finish(&app, response))
        };
        Either::Left(answer.boxed())
    }
}
