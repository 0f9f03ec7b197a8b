//! Metrics endpoints.

use axum::extract::State;
use shared::api::imported::ImportedMetricsAnswer;
use shared::api::metrics::MetricsAnswer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{history, recent};
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::counting::counters;
use crate::domain::error::Result;
use crate::domain::imports;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json};
use crate::http::present;

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(read_metrics))
        .routes(routes!(read_imported_metrics))
        .merge(history::routes())
        .merge(recent::routes())
}

/// Get a deployment's metrics.
///
/// Has every label and binary version that was reported since the history was last cleared, including those at zero. `estimatedBytesSaved` is what diffs
/// have saved: an estimate, while the counts are exact.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/metrics",
    tag = "metrics",
    security(("bearer" = ["metrics.read"])),
    responses((status = 200, body = MetricsAnswer))
)]
pub async fn read_metrics(
    State(app): State<AppState>,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
) -> Result<Json<MetricsAnswer>> {
    let rows = counters::list(&mut app.db.read().await?, &grant, &name).await?;
    Ok(Json(present::metrics(rows)))
}

/// Get what the old server had counted.
///
/// For a deployment that was imported from another server: the counts that it had there when it was imported last. They are a starting level, and no part
/// of the deployment's metrics, which begin with the first device that reports here.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/metrics/imported",
    tag = "metrics",
    security(("bearer" = ["metrics.read"])),
    responses((status = 200, body = ImportedMetricsAnswer))
)]
pub async fn read_imported_metrics(
    State(app): State<AppState>,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
) -> Result<Json<ImportedMetricsAnswer>> {
    let level = imports::starting_level(&mut app.db.read().await?, &grant, &name).await?;
    Ok(Json(present::imported_metrics(level)))
}
