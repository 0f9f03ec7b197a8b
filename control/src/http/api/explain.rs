//! Explains update checks.

use axum::extract::{RawQuery, State};
use shared::api::explain::{ExplainAnswer, UpdateInfo};
use shared::explanation::Explanation;
use shared::wire::check::parse_query_without_key;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::{ReadApp, ReadDeploymentKeys};
use crate::domain::error::Result;
use crate::domain::snapshot::of_deployment;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(explain_check))
}

/// Explain an update check.
///
/// Returns what a device gets, and why: the reason, and what became of each release. The query is that of the device's update check, without the
/// deployment key, and the same code decides. Names in snake case work, too. An empty value counts as missing. The edge follows a change of a release within
/// about a minute.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/explain",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    params(
        ("appVersion" = String, Query, min_length = 1, description = "The version of the app binary, such as `1.0.0`"),
        ("packageHash" = Option<String>, Query, description = "The package hash of the installed release"),
        ("label" = Option<String>, Query, description = "The label of the installed release"),
        ("clientUniqueId" = Option<String>, Query, description = "The device's ID. Without it, no unfinished rollout includes the device"),
        ("isCompanion" = Option<String>, Query, description = "`true` ignores the version of the app binary"),
    ),
    responses((status = 200, body = ExplainAnswer))
)]
pub async fn explain_check(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Json<ExplainAnswer>> {
    let request_with = parse_query_without_key(query.as_deref().unwrap_or_default())?;
    let (key, snapshot) = of_deployment(&app, &app.snapshots, &grant, &deployment).await?;
    let request = request_with(key);
    let explanation = Explanation::of(&snapshot, &request);
    let mut update_info = UpdateInfo::of(&request, &snapshot, &explanation.decision, &app.download_urls());
    if update_info.is_available && !grant.also::<ReadDeploymentKeys>() {
        "(hidden)".clone_into(&mut update_info.download_url);
    }
    Ok(Json(ExplainAnswer::new(update_info, explanation)))
}
