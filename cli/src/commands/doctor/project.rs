//! Checks of the project: its file, and that its app and deployment exist.

use std::path::Path;

use shared::api::apps::AppAnswer;
use shared::api::deployments::{Deployment, DeploymentAnswer};

use super::report::Report;
use crate::client::{Client, path};
use crate::commands::init::concerns;
use crate::commands::init::plan::Platform;
use crate::commands::nearest;
use crate::config::project::{self, OfPlatform};
use crate::context::{Context, Contradiction};

const FILE: &str = "project";
const ENVIRONMENT: &str = "environment";
const APP: &str = "app";
const DEPLOYMENT: &str = "deployment";

/// Whether there is a project file, and whether it is valid.
pub(super) fn check_file(report: &mut Report<'_>) {
    match project::find() {
        Err(error) => report.failed(FILE, &error),
        Ok(Some(found)) => report.ok(FILE, found.path.display().to_string()),
        Ok(None) => report.pending(FILE, "there is no updraft.toml here or above", Some("In a project, run `updraft init`.")),
    }
}

/// Whether both platforms of the project have an app, if one has.
pub(super) fn check_platforms(context: &Context, report: &mut Report<'_>) {
    let Some(found) = context.project.as_ref().filter(|_| given("UPDRAFT_APP").is_none()) else { return };
    let folder = found.path.parent().unwrap_or(Path::new("."));
    if let Some(platform) = concerns::platform_without_app(folder, &found.project) {
        let (title, name) = (platform.title(), platform.name());
        let text = format!("{title} has no app: the table [{name}] in updraft.toml is missing, so no command releases to it");
        report.warning(APP, text, format!("Run `updraft init --platform {name}`."));
    }
}

/// Whether variables contradict the project file.
pub(super) fn check_environment(context: &Context, report: &mut Report<'_>) {
    for Contradiction { variable, value, setting, in_file } in context.contradictions() {
        let text = format!("{variable} is {value}, and updraft.toml has {setting} = {in_file}: commands here use {value}");
        report.warning(ENVIRONMENT, text, format!("Unset {variable} to use {in_file}, or correct updraft.toml."));
    }
}

/// An app that commands here would use.
#[derive(Debug)]
pub(super) struct Target {
    /// The app that a table of the project file has, or a variable.
    app: Option<String>,
    /// The platform of the table.
    pub(super) only: Option<Platform>,
}

fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// The apps that commands here would use: that of each platform's table, or the one of the project.
pub(super) fn targets(context: &Context) -> Vec<Target> {
    let one = vec![Target { app: given("UPDRAFT_APP"), only: None }];
    let Some(project) = context.project.as_ref().map(|found| &found.project).filter(|_| given("UPDRAFT_APP").is_none()) else { return one };
    let tables = [(&project.ios, Platform::Ios), (&project.android, Platform::Android)];
    let of_table = |(table, platform): (&Option<OfPlatform>, Platform)| {
        table.as_ref()?.app.clone().map(|app| Target { app: Some(app), only: Some(platform) })
    };
    let found: Vec<Target> = tables.into_iter().filter_map(of_table).collect();
    if found.is_empty() { one } else { found }
}

/// Whether the app and the deployment of a target exist. Returns them if they do.
pub(super) async fn check_remote(
    context: &Context,
    client: Option<&Client>,
    target: &Target,
    report: &mut Report<'_>,
) -> Option<(String, Deployment)> {
    let given_deployment = given("UPDRAFT_DEPLOYMENT");
    let of = |name: &str| target.only.map_or_else(|| name.to_owned(), |platform| format!("{name} ({})", platform.title()));
    let Ok(app) = context.app(target.app.as_deref()) else {
        report.pending(APP, "none is set", None);
        report.pending(DEPLOYMENT, "no app is set", None);
        return None;
    };
    let Some(client) = client else {
        report.pending(APP, "you are not signed in", None);
        report.pending(DEPLOYMENT, "you are not signed in", None);
        return None;
    };
    match nearest::app(client, app, client.get::<AppAnswer>(&path(["v1", "apps", app])).await).await {
        Ok(_) => report.ok(APP, of(app)),
        Err(error) => {
            report.failed(APP, &error);
            report.skipped(DEPLOYMENT, "the app was not found");
            return None;
        }
    }
    let Ok(deployment) = context.deployment(given_deployment.as_deref()) else {
        report.pending(DEPLOYMENT, "none is set", None);
        return None;
    };
    let found = client.get::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", deployment])).await;
    match nearest::deployment(client, app, deployment, found).await {
        Ok(answer) => {
            report.ok(DEPLOYMENT, of(deployment));
            Some((app.to_owned(), answer.value.deployment))
        }
        Err(error) => {
            report.failed(DEPLOYMENT, &error);
            None
        }
    }
}
