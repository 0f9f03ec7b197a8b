//! Recent metrics endpoint.

use axum::extract::{RawQuery, State};
use shared::FieldErrors;
use shared::api::recent::{RecentCounts, RecentMetricsAnswer, RecentPoint};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::counting::recent::{self, MAX_MINUTES, Recent};
use crate::domain::counting::rules::Change;
use crate::domain::error::Result;
use crate::http::AppState;
use crate::http::extract::query::{parameters, whole_number};
use crate::http::extract::{DeploymentPath, Json};

/// The minutes of a range unless the request says so.
const DEFAULT_MINUTES: u16 = 60;

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read_recent_metrics))
}

/// Get a deployment's recent metrics.
///
/// Returns what changed in the counts of each label and binary version, by the time at which the reports were received. Their sums equal the changes of the
/// counts. The last 48 hours are kept.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/metrics/recent",
    tag = "metrics",
    security(("bearer" = ["metrics.read"])),
    params(("minutes" = Option<u16>, Query, minimum = 1, maximum = 2880, description = "The length of the range, which ends now. Default: 60")),
    responses((status = 200, body = RecentMetricsAnswer))
)]
pub async fn read_recent_metrics(
    State(app): State<AppState>,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Json<RecentMetricsAnswer>> {
    let minutes = read(query.as_deref().unwrap_or_default())?;
    Ok(Json(present(recent::read(&app, &grant, &name, minutes).await?)))
}

/// Reads the query. Errors: an invalid parameter.
fn read(query: &str) -> Result<u16, FieldErrors> {
    let mut errors = FieldErrors::default();
    let [minutes] = parameters(query, ["minutes"], &mut errors);
    let minutes = errors.take("minutes", whole_number(minutes, DEFAULT_MINUTES, MAX_MINUTES));
    minutes.filter(|_| errors.is_empty()).ok_or(errors)
}

/// The wire form.
fn present(recent: Recent) -> RecentMetricsAnswer {
    let counts = |(name, Change { active, downloaded, installed, failed })| (name, RecentCounts { active, downloaded, installed, failed });
    let points = recent.points.into_iter().map(|(time, labels)| RecentPoint { time, labels: labels.into_iter().map(counts).collect() });
    RecentMetricsAnswer { from: recent.from, to: recent.to, step_minutes: recent.step, points: points.collect() }
}
