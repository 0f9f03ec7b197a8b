//! Checks of the project: its file, and that its app and deployment exist.

use std::path::Path;

use shared::api::apps::AppAnswer;
use shared::api::deployments::{Deployment, DeploymentAnswer};

use super::report::Report;
use crate::client::{Client, path};
use crate::commands::init::concerns;
use crate::commands::init::plan::Platform;
use crate::commands::nearest;
use crate::config::project::{self, Found, OfPlatform};
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

/// Whether both platforms of the project have an app, if one has. Returns the one without, and the command that sets it up.
pub(super) fn check_platforms(context: &Context, report: &mut Report<'_>) -> Option<(Platform, String)> {
    let found = context.project.as_ref().filter(|_| given("UPDRAFT_APP").is_none())?;
    let platform = concerns::platform_without_app(folder_of(found), &found.project)?;
    let (title, name) = (platform.title(), platform.name());
    let (text, command) = match &found.project.app {
        // Without another name, `init` would choose that app, and refuse it.
        Some(app) => (
            format!(
                "{title} has no app of its own: updraft.toml has {app} for the whole project, and it is the app of {}, so no command releases \
                 to {title}",
                platform.other().title()
            ),
            format!("updraft init --platform {name} --app NAME"),
        ),
        None => (
            format!("{title} has no app: the table [{name}] in updraft.toml is missing, so no command releases to it"),
            format!("updraft init --platform {name}"),
        ),
    };
    report.warning(APP, text, format!("Run `{command}`."));
    Some((platform, command))
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

impl Target {
    /// The deployment, if app and deployment are known: `Production of demo (iOS)`.
    pub(super) fn named(&self, context: &Context) -> Option<String> {
        let app = context.app(self.app.as_deref()).ok()?;
        let given_deployment = given("UPDRAFT_DEPLOYMENT");
        let deployment = context.deployment(given_deployment.as_deref()).ok()?;
        Some(self.of(&format!("{deployment} of {app}")))
    }

    /// Its platform, as the end of a sentence; nothing if it is for all.
    pub(super) fn of_platform(&self) -> String {
        self.only.map(|platform| format!(" for {}", platform.title())).unwrap_or_default()
    }

    /// A name with the platform.
    fn of(&self, name: &str) -> String {
        self.only.map_or_else(|| name.to_owned(), |platform| format!("{name} ({})", platform.title()))
    }
}

fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Why the server cannot be asked, without a client that works.
pub(super) fn without_client(context: &Context) -> &'static str {
    if context.client().is_ok() { "the server or the credential does not work" } else { "you are not signed in" }
}

/// The apps that commands here would use: that of each platform's table, or the one of the project. With a table for one platform only, releases for the
/// other one go to the app of the project.
pub(super) fn targets(context: &Context) -> Vec<Target> {
    let one = vec![Target { app: given("UPDRAFT_APP"), only: None }];
    let Some(found) = context.project.as_ref().filter(|_| given("UPDRAFT_APP").is_none()) else { return one };
    let project = &found.project;
    let tables = [(&project.ios, Platform::Ios), (&project.android, Platform::Android)];
    let of_table = |table: &Option<OfPlatform>| table.as_ref().and_then(|table| table.app.clone());
    if tables.iter().all(|(table, _)| of_table(table).is_none()) {
        return one;
    }
    let target = |(table, platform): (&Option<OfPlatform>, Platform)| {
        let app = of_table(table).or_else(|| concerns::app_of_the_rest(folder_of(found), project, platform).map(str::to_owned))?;
        Some(Target { app: Some(app), only: Some(platform) })
    };
    tables.into_iter().filter_map(target).collect()
}

/// The folder of the project file.
fn folder_of(found: &Found) -> &Path {
    found.path.parent().unwrap_or(Path::new("."))
}

/// Whether the app and the deployment of a target exist. Returns them if they do.
pub(super) async fn check_remote(
    context: &Context,
    client: Option<&Client>,
    target: &Target,
    report: &mut Report<'_>,
) -> Option<(String, Deployment)> {
    let given_deployment = given("UPDRAFT_DEPLOYMENT");
    let Ok(app) = context.app(target.app.as_deref()) else {
        report.pending(APP, "none is set", None);
        report.pending(DEPLOYMENT, "no app is set", None);
        return None;
    };
    let Some(client) = client else {
        let why = without_client(context);
        let unknown = |name: &str| format!("{}: {why}", target.of(name));
        report.pending(APP, unknown(app), None);
        let deployment = context.deployment(given_deployment.as_deref());
        report.pending(DEPLOYMENT, deployment.map_or_else(|_| why.to_owned(), unknown), None);
        return None;
    };
    match nearest::app(client, app, client.get::<AppAnswer>(&path(["v1", "apps", app])).await).await {
        Ok(_) => report.ok(APP, target.of(app)),
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
            report.ok(DEPLOYMENT, target.of(deployment));
            Some((app.to_owned(), answer.value.deployment))
        }
        Err(error) => {
            report.failed(DEPLOYMENT, &error);
            None
        }
    }
}
