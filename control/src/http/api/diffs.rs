//! Diffs endpoint.

use axum::extract::State;
use shared::api::diffs::{DiffProblem, DiffStatus, DiffsAnswer, ReleaseDiffs, SourceDiff};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::diffs::Problem;
use crate::domain::diffs::listing::{self, Line, Listing, State as LineState};
use crate::domain::error::Result;
use crate::domain::releases::service::label as label_of;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json, LabelPath};
use crate::http::present;

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_release_diffs))
}

/// Get the diffs of a release.
///
/// Devices with one of the listed packages download a diff, which is smaller than the bundle. Diffs are made in the background after a release. All other
/// devices download the whole bundle.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/releases/{label}/diffs",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    responses((status = 200, body = DiffsAnswer))
)]
pub async fn get_release_diffs(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
) -> Result<Json<DiffsAnswer>> {
    let found = listing::of(&mut app.db.read().await?, &grant, &deployment, label).await?;
    Ok(Json(DiffsAnswer { diffs: diffs(found, app.settings.makes_diffs)? }))
}

fn diffs(found: Listing, is_making: bool) -> Result<ReleaseDiffs> {
    let Listing { full_size, is_offered, is_single_file, diffs } = found;
    let sources = diffs.into_iter().map(source).collect::<Result<Vec<_>>>()?;
    Ok(ReleaseDiffs { full_size, is_offered, is_single_file, is_making, sources })
}

fn source(line: Line) -> Result<SourceDiff> {
    let (status, size, problem) = match line.state {
        LineState::Ready(size) => (DiffStatus::Ready, Some(size), None),
        LineState::Pending => (DiffStatus::Pending, None, None),
        LineState::Missing(problem) => (DiffStatus::None, None, Some(problem)),
    };
    Ok(SourceDiff {
        source_hash: line.source_hash,
        labels: line.labels.into_iter().map(label_of).collect::<Result<Vec<_>>>()?,
        status,
        size,
        problem: problem.map(wire),
        message: problem.map(|problem| problem.to_string()),
        is_fault: problem.is_some_and(Problem::is_fault),
        advice: problem.and_then(present::diff_advice).map(str::to_owned),
    })
}

fn wire(problem: Problem) -> DiffProblem {
    match problem {
        Problem::SameFiles => DiffProblem::SameFiles,
        Problem::SingleFile => DiffProblem::SingleFile,
        Problem::TooLarge => DiffProblem::TooLarge,
        Problem::UnsafeNames => DiffProblem::UnsafeNames,
        Problem::OtherHash => DiffProblem::OtherHash,
        Problem::TargetDamaged => DiffProblem::TargetDamaged,
        Problem::BaseDamaged => DiffProblem::BaseDamaged,
        Problem::TooManyFiles => DiffProblem::TooManyFiles,
        Problem::NotApplicable => DiffProblem::NotApplicable,
        Problem::Unfinished => DiffProblem::Unfinished,
    }
}
