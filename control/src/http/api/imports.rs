//! Import endpoints, for the future owner of the apps. The client reads the other server: nothing here fetches an address.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use futures_util::{StreamExt, TryStreamExt};
use import::plan::THE_ACCOUNT;
use import::report::{Joined, Outcome};
use serde::de::DeserializeOwned;
use shared::FieldErrors;
use shared::api::imports::{
    CollaboratorState, ImportLimits, ImportProblem, ImportProblemsAnswer, ImportResult, ImportedApp, ImportedAppAnswer,
    ImportedCollaborator, ImportedDeployment, ImportedHistory, ImportedHistoryAnswer, ImportedPackage, ImportedPackageAnswer, KnownApp,
    KnownDeployment, MAX_IMPORT_BODY, MAX_IMPORT_RELEASES, NewImportedApp, PlannedImport,
};
use shared::keys::Label;
use shared::wire::problem::too_large;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::domain::access::grant::OwnApp;
use crate::domain::access::{AppGrant, NotApiKey};
use crate::domain::error::{Error, Result};
use crate::domain::imports::sent::{self, Sent};
use crate::domain::imports::{self, Import, packages};
use crate::domain::releases::size::MAX_RANGES;
use crate::domain::releases::{ImportAllowance, UploadAllowance, upload};
use crate::http::AppState;
use crate::http::extract::DeploymentPath;
use crate::http::extract::json::{self, Json};

/// The routes of this area.
pub fn routes() -> OpenApiRouter<AppState> {
    // Each body has a limit of its own, and packages are streamed to disk. The framework's limit is for bodies in memory.
    OpenApiRouter::new()
        .routes(routes!(check_import).layer(DefaultBodyLimit::disable()))
        .routes(routes!(import_app).layer(DefaultBodyLimit::disable()))
        .routes(routes!(import_package).layer(DefaultBodyLimit::disable()))
        .routes(routes!(import_history).layer(DefaultBodyLimit::disable()))
}

/// Check an import.
///
/// Says what blocks importing these apps into the caller's account: quotas, and names and keys that are taken. Changes nothing. API keys cannot
/// import.
///
/// `updraft import codepush` reads the other server and calls this operation and the others of this group.
#[utoipa::path(
    post,
    path = "/v1/imports/check",
    tag = "imports",
    security(("bearer" = ["not an API key"])),
    request_body = PlannedImport,
    responses((status = 200, body = ImportProblemsAnswer))
)]
pub async fn check_import(
    State(app): State<AppState>,
    caller: NotApiKey,
    upload: ImportAllowance,
    request: Request,
) -> Result<Json<ImportProblemsAnswer>> {
    let body = body(&app, request).await?;
    let turn = app.front.import_turns.take(caller.account()).await?;
    let planned: PlannedImport = turn.run(move || parse(&body)).await??;
    let mut errors = FieldErrors::default();
    let source = errors.take("source", planned.source.required().and_then(|source| sent::source(&source)));
    let apps = errors.take("apps", planned.apps.required().and_then(sent::apps));
    let stored_bytes = errors.take("storedBytes", planned.stored_bytes.optional());
    let (Some(source), Some(apps), Some(stored_bytes)) = (source, apps, stored_bytes) else { return Err(errors.into()) };
    let import = Import::by_owner(&app, &caller, source);
    let plan = import::plan::Plan { apps, ..Default::default() };
    let known = import.known(&plan).await?;
    let other_apps = import.other_apps(&plan).await?;
    let stored_bytes_left = import.bytes_left().await?.unwrap_or(u64::MAX);
    let problems = import.problems(&plan, stored_bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default()).await?;
    let present = |problem: import::plan::Problem| {
        let import::plan::Remark { place, text } = problem.remark;
        ImportProblem { app: (place.app != THE_ACCOUNT).then_some(place.app), deployment: place.deployment, message: text }
    };
    let limits = &app.settings.limits;
    let limits = ImportLimits {
        max_releases: MAX_IMPORT_RELEASES,
        max_version_ranges: MAX_RANGES,
        max_snapshot_bytes: limits.snapshot_bytes,
        max_archive_entries: limits.archive.entries,
        max_archive_bytes: limits.archive.uncompressed_bytes,
        max_archive_ratio: limits.archive.ratio,
        stored_bytes_left,
    };
    let deployment = |imports::KnownDeployment { source_name, row, has_own }| KnownDeployment {
        newest_label: u32::try_from(row.last_label).ok().and_then(Label::new),
        has_own_releases: has_own,
        source_name,
        name: row.name,
    };
    let known_app = |app: imports::KnownApp| KnownApp {
        source_name: app.source_name,
        name: app.name,
        deployments: app.deployments.into_iter().map(deployment).collect(),
        gone_deployments: app.gone,
    };
    let answer = ImportProblemsAnswer {
        problems: problems.into_iter().map(present).collect(),
        known_apps: known.into_iter().map(known_app).collect(),
        other_apps,
        limits,
    };
    drop((turn, upload));
    Ok(Json(answer))
}

/// Import an app.
///
/// Creates an app with its deployments and their keys, or what an earlier call has not created of it: a repeated call creates nothing twice. It finds the
/// app by its deployment keys, so that renames on either server change nothing. The app belongs to the caller. A deployment key is taken only if nobody
/// has it.
///
/// Collaborators are added when the app is created, as Developers. Each counts toward the rate limit for adding collaborators, so an app cannot have more
/// than that. API keys cannot import.
#[utoipa::path(
    post,
    path = "/v1/imports/apps",
    tag = "imports",
    security(("bearer" = ["not an API key"])),
    request_body = NewImportedApp,
    responses(
        (status = 200, body = ImportedAppAnswer),
        (
            status = 409,
            description = "The caller has another app of this name, or the app another deployment of this name; a key is taken; or the caller has \
                reached a quota"
        ),
    )
)]
pub async fn import_app(
    State(app): State<AppState>,
    caller: NotApiKey,
    upload: ImportAllowance,
    request: Request,
) -> Result<Json<ImportedAppAnswer>> {
    let body = body(&app, request).await?;
    let turn = app.front.import_turns.take(caller.account()).await?;
    let new: NewImportedApp = turn.run(move || parse(&body)).await??;
    let mut errors = FieldErrors::default();
    let source = errors.take("source", new.source.required().and_then(|source| sent::source(&source)));
    let planned = errors.take("app", new.app.required().and_then(sent::app));
    let (Some(source), Some(planned)) = (source, planned) else { return Err(errors.into()) };
    let import = Import::by_owner(&app, &caller, source);
    let imported = import.app(&planned).await?;
    drop((turn, upload));
    let deployment = |(source_name, _, name)| ImportedDeployment { source_name, name };
    let collaborator = |(email, joined)| {
        let state = match joined {
            Joined::Added => CollaboratorState::Added,
            Joined::Awaited => CollaboratorState::Awaited,
            Joined::NotAdded => CollaboratorState::NotAdded,
            Joined::NoAddress => CollaboratorState::NoAddress,
        };
        ImportedCollaborator { email, state }
    };
    Ok(Json(ImportedAppAnswer {
        app: ImportedApp {
            name: imported.name,
            deployments: imported.deployments.into_iter().map(deployment).collect(),
            collaborators: imported.collaborators.into_iter().map(collaborator).collect(),
        },
    }))
}

/// Import a package.
///
/// Sends the bundle of releases to import: a ZIP archive, or any other single file, as the whole body. It is checked like an uploaded bundle, and kept for
/// three days. Then it is deleted, unless a history that refers to it was imported. Each counts as an upload; the other requests of an import do not. Only the
/// owner of an imported app can send packages; API keys cannot.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/imports/packages",
    tag = "imports",
    security(("bearer" = ["apps.own"])),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, body = ImportedPackageAnswer),
        (status = 409, description = "The app was not imported, or its owner has reached the storage quota"),
    )
)]
pub async fn import_package(
    State(app): State<AppState>,
    grant: AppGrant<OwnApp>,
    allowance: UploadAllowance,
    request: Request,
) -> Result<Json<ImportedPackageAnswer>> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let limit = packages::accept(&app, &grant, length).await?;
    let cut = |_| Error::invalid("package", "the body ended early");
    let bundle = upload::receive(&app, limit, request.into_body().into_data_stream().map_err(cut)).await?;
    let kept = app.work.run(packages::keep(Arc::clone(&app.context), grant, allowance, bundle)).await?;
    let size = u64::try_from(kept.size).map_err(Error::internal)?;
    let package = ImportedPackage { sha256: kept.sha256, package_hash: kept.package_hash, size, expires: kept.expires };
    Ok(Json(ImportedPackageAnswer { package }))
}

/// Import a history.
///
/// Imports all releases of a deployment at once, with the packages that were sent for them, and the other server's counts. If packages are missing,
/// nothing is changed, and the answer lists them.
///
/// As long as all releases of the deployment came from the other server, a repeated call adds what is new there and takes over what was changed. A
/// release that was changed here since keeps that. If a label stands for another package than here, nothing is changed. Labels only grow: a release that
/// was left out never comes later. Only the owner of an imported app can import its histories; API keys cannot.
#[utoipa::path(
    post,
    path = "/v1/apps/{app}/deployments/{deployment}/imports",
    tag = "imports",
    security(("bearer" = ["apps.own"])),
    request_body = ImportedHistory,
    responses(
        (status = 200, body = ImportedHistoryAnswer),
        (
            status = 409,
            description = "The deployment was not imported; or it would have too many releases, version ranges or bytes, or its owner has reached a quota"
        ),
    )
)]
pub async fn import_history(
    State(app): State<AppState>,
    grant: AppGrant<OwnApp>,
    upload: ImportAllowance,
    DeploymentPath(deployment): DeploymentPath,
    request: Request,
) -> Result<Json<ImportedHistoryAnswer>> {
    let body = body(&app, request).await?;
    // Histories are large, and written in one transaction: at most two at once, of two accounts.
    let turn = app.front.import_turns.take(grant.account()).await?;
    let history: ImportedHistory = turn.run(move || parse(&body)).await??;
    let mut errors = FieldErrors::default();
    let releases = errors.take("releases", history.releases.required());
    let counts = errors.take("counts", history.counts.optional());
    let (Some(releases), Some(counts)) = (releases, counts) else { return Err(errors.into()) };
    let context = Arc::clone(&app.context);
    let write = async move {
        let sent = sent::history(&context, &grant, &deployment, releases, counts).await;
        drop((turn, upload));
        sent
    };
    // All or nothing, even if the client disconnects now.
    let mut answer = ImportedHistoryAnswer {
        result: ImportResult::Imported,
        added: 0,
        updated: 0,
        kept_releases: Vec::new(),
        differing_releases: Vec::new(),
        missing_packages: Vec::new(),
    };
    match app.work.run(write).await? {
        Sent::Done(Outcome::Imported { added, updated, kept }) => {
            (answer.added, answer.updated, answer.kept_releases) = (added, updated, kept);
        }
        Sent::Done(Outcome::HasOwn) => answer.result = ImportResult::HasOwnReleases,
        Sent::Done(Outcome::OtherPackages { labels }) => {
            (answer.result, answer.differing_releases) = (ImportResult::OtherPackages, labels);
        }
        Sent::Missing(packages) => (answer.result, answer.missing_packages) = (ImportResult::PackagesMissing, packages),
    }
    Ok(Json(answer))
}

/// A JSON body, which can be larger here than elsewhere: it waits on disk for its turn. Errors: 400, 413, 415.
async fn body(app: &AppState, request: Request) -> Result<NamedTempFile> {
    let (parts, body) = request.into_parts();
    let refused = || Error::TooLarge(FieldErrors::of_request(too_large(MAX_IMPORT_BODY)));
    let file = NamedTempFile::new_in(app.storage.temp_dir()).map_err(Error::unavailable)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(Error::unavailable)?);
    let (mut chunks, mut size, mut is_checked) = (body.into_data_stream(), 0_usize, false);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Error::Invalid(FieldErrors::of_request("the body ended early")))?;
        if !is_checked {
            json::check_type(&parts.headers, &chunk)?;
            is_checked = true;
        }
        size += chunk.len();
        if size > MAX_IMPORT_BODY {
            return Err(refused());
        }
        writer.write_all(&chunk).await.map_err(Error::unavailable)?;
    }
    writer.flush().await.map_err(Error::unavailable)?;
    Ok(file)
}

/// Parses a body. No body is an empty object: a required member is named as missing then.
fn parse<T: DeserializeOwned>(file: &NamedTempFile) -> Result<T> {
    let body = std::fs::read(file.path()).map_err(Error::unavailable)?;
    json::parse(if body.is_empty() { b"{}" } else { &body })
}
