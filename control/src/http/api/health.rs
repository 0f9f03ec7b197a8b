//! Health endpoints.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use shared::api::health::{CheckResult, Checks, Health};
use shared::time::UnixMillis;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::context::Context;
use crate::domain::edge_counters;
use crate::domain::error::{Error, chain};
use crate::domain::outbox::{self, Kind};
use crate::http::AppState;
use crate::http::extract::Json;
use crate::http::layer::RequestIdHeader;

/// How long the result of the checks is cached, in milliseconds.
const CACHE_AGE: i64 = 5_000;
/// The edge is degraded if an outbox row is older than this, in milliseconds.
const EDGE_LAG: i64 = 60_000;
/// The edge is degraded for so long after it, or the comparison with KV, found something that control has not written, in milliseconds.
const EDGE_DISTRUST: u64 = 10 * 60_000;
/// The timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    // `/health` is for probes that expect only this word. It is not part of the API.
    OpenApiRouter::new().routes(routes!(get_health)).route("/health", get(async || "Healthy"))
}

/// Check the service's health.
///
/// Returns 503 if the database or the bundle storage fails. With `?live`, runs no checks: any response means that the process is alive.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "health",
    params(("live" = Option<String>, Query, description = "With any value or none: run no checks")),
    responses(
        (status = 200, body = Health),
        (status = 503, body = Health, description = "The database or the bundle storage cannot be reached. The body also has the members of an error"),
    )
)]
async fn get_health(State(app): State<AppState>, request: Request) -> Response {
    let answer = |status: &str, checks| Health {
        status: status.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checks,
        error: None,
        request_id: None,
    };
    let is_live = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "live" || pair.starts_with("live=")));
    if is_live {
        return Json(answer("ok", None)).into_response();
    }
    let checks = *checks(&app).await;
    if checks.database == CheckResult::Ok && checks.storage == CheckResult::Ok {
        return Json(answer("ok", Some(checks))).into_response();
    }
    let error = Some("the service is temporarily unavailable: try again".to_owned());
    let request_id = Some(request.extensions().get::<RequestIdHeader>().map(|id| id.0.to_string()).unwrap_or_default());
    let mut response = Json(Health { error, request_id, ..answer("unavailable", Some(checks)) }).into_response();
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

async fn checks(app: &AppState) -> Arc<Checks> {
    let mut last = app.front.health.0.lock().await;
    let now = app.now();
    if let Some((checked, checks)) = last.as_ref()
        && (0..CACHE_AGE).contains(&(now.as_millis() - checked.as_millis()))
    {
        return Arc::clone(checks);
    }
    let (state, stored) =
        tokio::join!(tokio::time::timeout(CHECK_TIMEOUT, state_of_edge(app)), tokio::time::timeout(CHECK_TIMEOUT, app.storage.probe()));
    let state = state.unwrap_or_else(|_| Err(Error::unavailable(slow())));
    let stored = stored.unwrap_or_else(|_| Err(slow()));
    if let Err(error) = &state {
        tracing::error!(cause = %chain(error), "the database check failed");
    }
    if let Err(error) = &stored {
        tracing::error!(cause = %chain(error), "the storage check failed");
    }
    let checks = Arc::new(Checks {
        database: if state.is_ok() { CheckResult::Ok } else { CheckResult::Failed },
        storage: if stored.is_ok() { CheckResult::Ok } else { CheckResult::Failed },
        edge: edge(app, state.as_ref(), now),
    });
    *last = Some((now, Arc::clone(&checks)));
    checks
}

fn slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no response within five seconds")
}

/// What the database says about the edge.
struct EdgeState {
    /// When the oldest snapshot was queued that KV does not have.
    oldest: Option<UnixMillis>,
    /// When the edge last found something that control has not written.
    distrusted: Option<UnixMillis>,
}

/// Reads the state of the edge. Any table would do to check the database.
async fn state_of_edge(app: &Context) -> Result<EdgeState, Error> {
    let mut tx = app.db.read().await?;
    Ok(EdgeState { oldest: outbox::oldest(&mut tx, Kind::Snapshot).await?, distrusted: edge_counters::newest(&mut tx).await? })
}

/// The edge's state. Degraded if the database fails: the lag is unknown, and nothing is pushed. A self-hosted edge, to which nothing is pushed, is only
/// ever degraded by what it did not trust.
fn edge(app: &Context, state: Result<&EdgeState, &Error>, now: UnixMillis) -> CheckResult {
    // A time in the future is that of a clock that was set back since.
    let is_over = |since: Option<UnixMillis>| since.is_none_or(|since| now.as_millis().abs_diff(since.as_millis()) > EDGE_DISTRUST);
    match state {
        Ok(state) if !is_over(state.distrusted) => CheckResult::Degraded,
        _ if !app.settings.has_edge => CheckResult::Off,
        Ok(state) if state.oldest.is_none_or(|oldest| now <= oldest.plus_millis(EDGE_LAG)) => CheckResult::Ok,
        _ => CheckResult::Degraded,
    }
}
