//! The server that apps are moved to, through its API.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use import::plan::{self, Method, Place, Plan, Problem, THE_ACCOUNT};
use import::report::{Joined, Outcome};
use import::room::{Here, Room, Settled};
use import::run::{Created, Target};
use import::staging::Staged;
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::api::Field;
use shared::api::imports::{
    CollaboratorState, ImportLimits, ImportProblemsAnswer, ImportResult, ImportedAppAnswer, ImportedHistory, ImportedHistoryAnswer,
    ImportedPackageAnswer, ImportedRelease, MAX_IMPORT_BODY, NewImportedApp, PlannedApp, PlannedDeployment, PlannedImport,
};
use shared::api::metrics::Counts;
use shared::api::releases::{HistoryAnswer, Release, ReleaseMethod};
use shared::hash::Sha256Hex;

use crate::client::{Client, path};
use crate::commands::advice;
use crate::config::server::ServerUrl;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::progress::Progress;

/// How often the packages of a history are sent, if the server forgets some of them meanwhile.
const ATTEMPTS: usize = 3;

/// The server, with the caller's credential.
pub(super) struct ApiTarget<'c> {
    context: &'c Context,
    client: Client,
    /// The same, for packages.
    uploads: Client,
}

impl<'c> ApiTarget<'c> {
    pub(super) fn new(context: &'c Context, client: Client, uploads: Client) -> Self {
        Self { context, client, uploads }
    }

    pub(super) fn url(&self) -> &ServerUrl {
        self.client.url()
    }

    /// The limits of the server. Errors: if the credential must not import.
    pub(super) async fn limits(&self) -> Result<ImportLimits> {
        let nothing = PlannedImport {
            source: Field::from(self.client.url().as_str().to_owned()),
            apps: Field::from(Vec::new()),
            stored_bytes: Field::Missing,
        };
        let checked = self.post::<ImportProblemsAnswer>("/v1/imports/check", &nothing).await;
        let checked = checked.map_err(|error| {
            if error.kind == Kind::NotFound {
                let what = format!("{} cannot import yet: it is older than this CLI", self.client.url());
                return Error { what, ..error }.with_next("Ask your administrator to upgrade the server, or to import for you.");
            }
            error
        });
        advice::forbidden(checked, advice::NOT_API_KEYS).map(|answer| answer.limits)
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let answer = self.client.send_patiently(reqwest::Method::POST, path, |request| request.json(body)).await?;
        Ok(self.client.read(&answer)?.value)
    }

    async fn check(&self, source: &str, plan: &Plan, bytes: u64) -> Result<ImportProblemsAnswer> {
        let planned = PlannedImport {
            source: Field::from(source.to_owned()),
            apps: Field::from(plan.apps.iter().map(planned).collect::<Vec<_>>()),
            stored_bytes: Field::from(i64::try_from(bytes).unwrap_or(i64::MAX)),
        };
        self.post("/v1/imports/check", &planned).await
    }

    /// Sends the packages with these hashes.
    async fn send(&self, app: &str, missing: &[Sha256Hex], history: &[(plan::Release, Option<Staged>)]) -> Result<()> {
        let by_hash: BTreeMap<String, &Staged> =
            history.iter().filter_map(|(_, staged)| staged.as_ref()).map(|staged| (staged.sha256.to_string(), staged)).collect();
        let wanted: Vec<&Staged> = missing.iter().filter_map(|sha256| by_hash.get(&sha256.to_string()).copied()).collect();
        let progress = Progress::bytes(self.context, "Sending packages", wanted.iter().map(|staged| staged.size).sum());
        for staged in wanted {
            let opened = File::open(&staged.path);
            let file = opened.map_err(|error| {
                Error::failed(format!("cannot read {}: {error}", staged.path.display()), "Run the command again: it continues.")
            })?;
            let path = path(["v1", "apps", app, "imports", "packages"]);
            let sent = self.uploads.send_file::<ImportedPackageAnswer>(&path, &Arc::new(file), staged.size, &progress).await?;
            if sent.value.package.sha256 != staged.sha256 {
                return Err(Error::failed("a package changed while it was sent", "Run the command again: it continues."));
            }
        }
        Ok(())
    }
}

/// An app on the server.
pub(super) struct App {
    /// Its name.
    name: String,
    /// The names of its deployments, by those at the source.
    deployments: BTreeMap<String, String>,
}

impl Target for ApiTarget<'_> {
    type Error = Error;
    type App = App;

    async fn room(&mut self, source: &str, plan: &Plan) -> Result<Room> {
        let answer = self.check(source, plan, 0).await?;
        let mut room = Room::of(Some(answer.limits.stored_bytes_left));
        room.others = answer.other_apps;
        for app in answer.known_apps {
            room.know(&app.source_name, &app.name, app.gone_deployments);
            for deployment in app.deployments {
                let path = path(["v1", "apps", &app.name, "deployments", &deployment.name, "history"]);
                let history = self.client.get::<HistoryAnswer>(&path).await?.value.history;
                let settled = Settled {
                    name: deployment.name,
                    newest: deployment.newest_label,
                    has_own: deployment.has_own_releases,
                    releases: history.into_iter().map(|release| (release.label, here(release))).collect(),
                };
                room.settle(&app.source_name, &deployment.source_name, settled);
            }
        }
        Ok(room)
    }

    async fn problems(&mut self, source: &str, plan: &Plan, bytes: u64) -> Result<Vec<Problem>> {
        let answer = self.check(source, plan, bytes).await?;
        let read = |problem: shared::api::imports::ImportProblem| {
            let place = Place { app: problem.app.unwrap_or_else(|| THE_ACCOUNT.to_owned()), deployment: problem.deployment, label: None };
            Problem::new(place, problem.message)
        };
        let mut problems: Vec<_> = answer.problems.into_iter().map(read).collect();
        for (app, deployment) in plan.apps.iter().flat_map(|app| app.deployments.iter().map(move |deployment| (app, deployment))) {
            let size: usize = deployment.releases.iter().map(|release| release.description.as_deref().map_or(0, str::len) + 600).sum();
            if size > MAX_IMPORT_BODY {
                let place = Place { app: app.source_name.clone(), deployment: Some(deployment.source_name.clone()), label: None };
                let text = "its descriptions are too long to import with this command. Your administrator can import it: `updraft-control import codepush`";
                problems.push(Problem::new(place, text));
            }
        }
        Ok(problems)
    }

    async fn app(&mut self, source: &str, app: &plan::App) -> Result<Created<App>> {
        let new = NewImportedApp { source: Field::from(source.to_owned()), app: Field::from(planned(app)) };
        let imported = self.post::<ImportedAppAnswer>("/v1/imports/apps", &new).await?.app;
        let joined = |state| match state {
            CollaboratorState::Added => Joined::Added,
            CollaboratorState::Awaited => Joined::Awaited,
            CollaboratorState::NotAdded => Joined::NotAdded,
            CollaboratorState::NoAddress => Joined::NoAddress,
        };
        let deployments: BTreeMap<_, _> =
            imported.deployments.into_iter().map(|deployment| (deployment.source_name, deployment.name)).collect();
        let collaborators = imported.collaborators.into_iter().map(|one| (one.email, joined(one.state))).collect();
        let app = App { name: imported.name.clone(), deployments: deployments.clone() };
        Ok(Created { app, name: imported.name, deployments, collaborators })
    }

    async fn history(&mut self, app: &App, deployment: &plan::Deployment, history: &[(plan::Release, Option<Staged>)]) -> Result<Outcome> {
        let name = app.deployments.get(&deployment.source_name).unwrap_or(&deployment.source_name);
        let path = path(["v1", "apps", &app.name, "deployments", name, "imports"]);
        let count = |(place, counts): (&String, &import::source::Counts)| {
            let import::source::Counts { active, downloaded, installed, failed } = *counts;
            (place.clone(), Counts { active, downloaded, installed, failed })
        };
        let body = ImportedHistory {
            releases: Field::from(history.iter().map(|(release, staged)| sent(release, staged.as_ref())).collect::<Vec<_>>()),
            counts: deployment
                .counts
                .as_ref()
                .map_or(Field::Missing, |counts| Field::from(counts.iter().map(count).collect::<BTreeMap<_, _>>())),
        };
        for _ in 0..ATTEMPTS {
            let answer: ImportedHistoryAnswer = self.post(&path, &body).await?;
            match answer.result {
                ImportResult::Imported => {
                    let ImportedHistoryAnswer { added, updated, kept_releases: kept, .. } = answer;
                    return Ok(Outcome::Imported { added, updated, kept });
                }
                ImportResult::OtherPackages => return Ok(Outcome::OtherPackages { labels: answer.differing_releases }),
                ImportResult::HasOwnReleases => return Ok(Outcome::HasOwn),
                ImportResult::PackagesMissing => self.send(&app.name, &answer.missing_packages, history).await?,
            }
        }
        Err(Error::failed("the server lost packages while it imported them", "Run the command again: it continues."))
    }
}

fn here(release: Release) -> Here {
    Here {
        package_hash: release.package_hash,
        range: release.app_version,
        description: release.description,
        is_disabled: release.is_disabled,
        is_mandatory: release.is_mandatory,
        rollout: release.rollout.and_then(|percent| u8::try_from(percent).ok()).unwrap_or(100),
    }
}

fn planned(app: &plan::App) -> PlannedApp {
    let deployment = |deployment: &plan::Deployment| PlannedDeployment {
        source_name: deployment.source_name.clone(),
        name: deployment.name.as_str().to_owned(),
        key: deployment.key.as_str().to_owned(),
    };
    PlannedApp {
        source_name: app.source_name.clone(),
        name: app.name.as_str().to_owned(),
        collaborators: app.collaborators.iter().map(|collaborator| collaborator.email.clone()).collect(),
        deployments: app.deployments.iter().map(deployment).collect(),
    }
}

fn sent(release: &plan::Release, staged: Option<&Staged>) -> ImportedRelease {
    ImportedRelease {
        label: release.label,
        app_version: release.range.text().to_owned(),
        package: staged.map(|staged| staged.sha256.clone()),
        package_hash: staged.map(|staged| staged.package_hash.clone()).or_else(|| release.package_hash.clone()),
        description: release.description.clone(),
        is_disabled: release.is_disabled,
        is_mandatory: release.is_mandatory,
        rollout: Some(u64::from(release.rollout.get())),
        release_method: Some(match release.method {
            Method::Upload => ReleaseMethod::Upload,
            Method::Promote => ReleaseMethod::Promote,
            Method::Rollback => ReleaseMethod::Rollback,
        }),
        original_label: release.original_label,
        original_deployment: release.original_deployment.clone(),
        released_by: release.released_by.clone(),
        upload_time: release.upload_time.map(|time| time.0),
    }
}
