//! Whether the service is up, and whether it can do its work.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use shared::time::UnixMillis;
use tokio::sync::Mutex;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::context::Context;
use crate::domain::error::{AppError, chain};
use crate::domain::snapshot::outbox;
use crate::http::AppState;
use crate::http::extract::Json;
use crate::http::layer::RequestIdHeader;

/// How long an answer is repeated without another look, in milliseconds.
const CACHE_AGE: i64 = 5_000;
/// An outbox row older than this means that the edge lags behind, in milliseconds.
const EDGE_LAG: i64 = 60_000;
/// A check that takes longer has failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The last answer of the checks, with its time. Those who ask while one is under way wait for it and start none.
#[derive(Debug, Default)]
pub struct HealthCache(Mutex<Option<(UnixMillis, Arc<Checks>)>>);

/// What each check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Checks {
    database: Condition,
    storage: Condition,
    edge: Condition,
}

/// The state of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CheckResult)]
enum Condition {
    /// It works.
    Ok,
    /// It works, but lags behind.
    Degraded,
    /// There is none.
    Off,
    /// It does not work.
    Failed,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthOut {
    status: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Checks>,
    /// The envelope's members, on a failure.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    problem: Option<ProblemOut>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemOut {
    error: &'static str,
    request_id: String,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    // `/health` is for probes that expect no more than this word; it is no part of the interface.
    OpenApiRouter::new().routes(routes!(get_health)).route("/health", get(async || "Healthy"))
}

/// Is the service ready? With `?live`: does the process answer? 503 when the database or the store fails.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "health",
    params(("live" = Option<String>, Query, description = "with any value, or none: only whether the process answers, without checks")),
    responses(
        (status = 200, body = HealthOut),
        (status = 503, body = HealthOut, description = "the database or the store cannot be reached; the members of an error are there, too"),
    )
)]
async fn get_health(State(app): State<AppState>, request: Request) -> Response {
    let version = env!("CARGO_PKG_VERSION");
    let is_live = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "live" || pair.starts_with("live=")));
    if is_live {
        return Json(HealthOut { status: "ok", version, checks: None, problem: None }).into_response();
    }
    let checks = *checks(&app).await;
    if checks.database == Condition::Ok && checks.storage == Condition::Ok {
        return Json(HealthOut { status: "ok", version, checks: Some(checks), problem: None }).into_response();
    }
    let request_id = request.extensions().get::<RequestIdHeader>().map(|id| id.0.to_string()).unwrap_or_default();
    let problem = Some(ProblemOut { error: "the service is unavailable for the moment, try again", request_id });
    let mut response = Json(HealthOut { status: "unavailable", version, checks: Some(checks), problem }).into_response();
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
    let (oldest, stored) =
        tokio::join!(tokio::time::timeout(CHECK_TIMEOUT, oldest(app)), tokio::time::timeout(CHECK_TIMEOUT, app.storage.probe()));
    let oldest = oldest.unwrap_or_else(|_| Err(AppError::unavailable(slow())));
    let stored = stored.unwrap_or_else(|_| Err(slow()));
    if let Err(error) = &oldest {
        tracing::error!(cause = %chain(error), "the database check failed");
    }
    if let Err(error) = &stored {
        tracing::error!(cause = %chain(error), "the storage check failed");
    }
    let checks = Arc::new(Checks {
        database: if oldest.is_ok() { Condition::Ok } else { Condition::Failed },
        storage: if stored.is_ok() { Condition::Ok } else { Condition::Failed },
        edge: edge(app, oldest.as_ref(), now),
    });
    *last = Some((now, Arc::clone(&checks)));
    checks
}

fn slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer within five seconds")
}

/// Reads the outbox, which proves the database as well as any other table.
async fn oldest(app: &Context) -> Result<Option<UnixMillis>, AppError> {
    let mut tx = app.db.read().await?;
    Ok(outbox::oldest(&mut tx).await?)
}

/// Without the database nobody knows how far the edge lags, and nothing is pushed.
fn edge(app: &Context, oldest: Result<&Option<UnixMillis>, &AppError>, now: UnixMillis) -> Condition {
    if !app.settings.has_edge {
        return Condition::Off;
    }
    match oldest {
        Ok(oldest) if oldest.is_none_or(|oldest| now <= oldest.plus_millis(EDGE_LAG)) => Condition::Ok,
        _ => Condition::Degraded,
    }
}
