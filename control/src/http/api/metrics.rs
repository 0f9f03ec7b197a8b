//! The operations on counts.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadMetrics;
use crate::domain::counting::counters::repo;
use crate::domain::deployments::service as deployments;
use crate::domain::error::AppResult;
use crate::http::AppState;
use crate::http::api::history;
use crate::http::extract::{DeploymentPath, Json};

/// The counts of one label or binary version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Counts)]
pub struct CountsOut {
    /// Clients that run it now.
    pub active: i64,
    /// Clients that have loaded it; 0 for a binary version.
    pub downloaded: i64,
    /// Clients that have run it; 0 for a binary version.
    pub installed: i64,
    /// Clients that have fallen back from it; 0 for a binary version.
    pub failed: i64,
}

/// The counts of a deployment by label or binary version.
#[derive(Debug, Serialize, ToSchema)]
pub struct MetricsAnswer {
    metrics: BTreeMap<String, CountsOut>,
}

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read_metrics)).merge(history::routes())
}

/// Read the counts of a deployment: every label and binary version that was reported since the history was last cleared, those at zero included.
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
) -> AppResult<Json<MetricsAnswer>> {
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &name).await?;
    let rows = repo::list(&mut tx, &deployment.id, deployment.counting_epoch).await?;
    let metrics = rows
        .into_iter()
        .map(|row| {
            let counts = CountsOut { active: row.active, downloaded: row.downloaded, installed: row.installed, failed: row.failed };
            (row.place, counts)
        })
        .collect();
    Ok(Json(MetricsAnswer { metrics }))
}
