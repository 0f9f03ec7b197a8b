//! Diffs endpoint.

use axum::extract::State;
use shared::api::diffs::{DiffProblem, DiffStatus, DiffsAnswer, NoDiffsReason, ReleaseDiffs, SourceDiff};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::diffs::listing::{self, Line, Listing, State as LineState};
use crate::domain::diffs::{Problem, Reason, UnsafeFile};
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
///
/// There is no diff between packages with names of files that some SDK gets wrong (`unsafe_names`). Safe names have printable ASCII characters except
/// `: % # ? ;` and backslashes. No two differ only in case, no file is where the other package has a folder, no new file is where
/// one of the app's 50 newest packages has one, and none is named `__MACOSX`, or is in a folder
/// `.DS_Store` or `.codepushrelease`. No file is in `__MACOSX`, except those that macOS writes, neither in both packages nor in one of the 50 newest. At the top of a package, `app.json` and `hotcodepush.json` are taken. If there is a folder `www` or `public` at the top,
/// all files are in it.
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
    let found = listing::read(&app, app.front.listing_turns(), &grant, &deployment, label).await?;
    Ok(Json(DiffsAnswer { diffs: diffs(found, app.settings.makes_diffs)? }))
}

fn diffs(found: Listing, is_making: bool) -> Result<ReleaseDiffs> {
    let Listing { label, full_size, is_offered, is_single_file, reason, diffs } = found;
    let sources = diffs.into_iter().map(source).collect::<Result<Vec<_>>>()?;
    let message = reason.map(|reason| reason.sentence(label));
    Ok(ReleaseDiffs { full_size, is_offered, is_single_file, is_making, reason: reason.map(wire_reason), message, sources })
}

fn source(line: Line) -> Result<SourceDiff> {
    let (status, size, obstacle) = match line.state {
        LineState::Ready(size) => (DiffStatus::Ready, Some(size), None),
        LineState::Pending => (DiffStatus::Pending, None, None),
        LineState::Missing(obstacle) => (DiffStatus::None, None, Some(obstacle)),
    };
    let obstacle = obstacle.as_ref();
    let problem = obstacle.map(|obstacle| obstacle.problem);
    Ok(SourceDiff {
        source_hash: line.source_hash,
        labels: line.labels.into_iter().map(label_of).collect::<Result<Vec<_>>>()?,
        status,
        size,
        problem: problem.map(wire),
        message: obstacle.map(ToString::to_string),
        file: obstacle.and_then(|obstacle| obstacle.file.as_ref()).map(UnsafeFile::path),
        found_time: obstacle.and_then(|obstacle| obstacle.found),
        retry_time: obstacle.and_then(|obstacle| obstacle.retry),
        is_fault: problem.is_some_and(Problem::is_fault),
        advice: problem.and_then(present::diff_advice).map(str::to_owned),
    })
}

fn wire_reason(reason: Reason) -> NoDiffsReason {
    match reason {
        Reason::SingleFile => NoDiffsReason::SingleFile,
        Reason::NoEarlierRelease => NoDiffsReason::NoEarlierRelease,
        Reason::Disabled => NoDiffsReason::Disabled,
        Reason::Replaced(_) => NoDiffsReason::Replaced,
        Reason::NoOtherPackage => NoDiffsReason::NoOtherPackage,
    }
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
        Problem::NoRoom => DiffProblem::NoRoom,
        Problem::DiskFull => DiffProblem::DiskFull,
        Problem::Unfinished => DiffProblem::Unfinished,
    }
}
