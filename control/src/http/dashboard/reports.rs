//! Content security policy reports from browsers: each becomes one log line, without any text from the report.

use std::sync::PoisonError;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde_json::Value;

use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::{limits, traces};
use crate::http::AppState;
use crate::http::extract::read_body;

/// The maximum size of a report, in bytes.
const MAX_REPORT: usize = 16 << 10;

/// The directives that a page can violate (Content Security Policy Level 3).
const DIRECTIVES: [&str; 14] = [
    "default-src",
    "script-src",
    "script-src-elem",
    "script-src-attr",
    "style-src",
    "style-src-elem",
    "style-src-attr",
    "img-src",
    "font-src",
    "connect-src",
    "frame-src",
    "form-action",
    "base-uri",
    "frame-ancestors",
];

pub(super) async fn post(State(app): State<AppState>, from: ClientAddress, request: Request) -> Result<StatusCode> {
    check_limit(&app, from).map_err(limits::too_many)?;
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, MAX_REPORT).await?;
    tracing::warn!(directive = directive(&body), "a browser reported a content security policy violation on a dashboard page");
    Ok(StatusCode::NO_CONTENT)
}

/// The rate limit for unauthenticated requests. Counted in memory: a restart may forget the counts, since reports change nothing.
fn check_limit(app: &AppState, from: ClientAddress) -> Result<(), u64> {
    let mut reports = app.front.policy_reports.lock().unwrap_or_else(PoisonError::into_inner);
    let acquired = reports.acquire_for_address(from.0, "", app.settings.limits.unauthenticated.posts, app.now().as_millis());
    acquired.inspect_err(|_| traces::refused(app, from, "policy_reports", None))
}

/// The violated directive, if it is a known one.
fn directive(body: &[u8]) -> &'static str {
    let report: Value = serde_json::from_slice(body).unwrap_or_default();
    let named = report.pointer("/csp-report/effective-directive").or(report.pointer("/csp-report/violated-directive"));
    let named = named.and_then(Value::as_str).and_then(|text| text.split(' ').next()).unwrap_or_default();
    DIRECTIVES.into_iter().find(|directive| *directive == named).unwrap_or("unknown")
}
