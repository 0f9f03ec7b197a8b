//! The short way of an update check: answered before the router and the layers around it, which cost more than the check.
//!
//! It is taken by plain checks alone: GET, exactly a path of the table, without a body and without the edge's word for an address. Everything else, and
//! all that the layers must judge, goes the long way, where the same function answers. A test asks both ways the same.

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

/// The whole service, with the short way in front of the long one.
#[derive(Clone, Debug)]
pub struct Quick {
    app: AppState,
    checks: Arc<HashMap<String, Arc<Check>>>,
    long: web::Service,
}

/// A path of checks.
#[derive(Debug)]
struct Check {
    endpoint: Endpoint,
    headers: HeaderMap,
}

impl Quick {
    /// Puts the short way in front of `long`.
    pub fn new(app: AppState, long: web::Service) -> Self {
        let checks = path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::Check);
        let checks =
            checks.map(|(path, endpoint)| (path, Arc::new(Check { endpoint, headers: prepared(headers::acquisition(&endpoint)) })));
        Self { app, checks: Arc::new(checks.collect()), long }
    }

    /// The path's, when the request may go the short way.
    fn check(&self, request: &Request) -> Option<Arc<Check>> {
        let is_plain = *request.method() == Method::GET && request.body().is_end_stream() && !web::speaks_for_a_client(request.headers());
        self.checks.get(request.uri().path()).filter(|_| is_plain).cloned()
    }
}

impl tower::Service<Request> for Quick {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<BoxFuture<'static, Result<Response, Infallible>>, <web::Service as tower::Service<Request>>::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        tower::Service::<Request>::poll_ready(&mut self.long, context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Some(check) = self.check(&request) else { return Either::Right(self.long.call(request)) };
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
