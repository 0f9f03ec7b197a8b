//! Checks of the project: its file, and that its app and deployment exist.

use shared::api::apps::AppAnswer;
use shared::api::deployments::{Deployment, DeploymentAnswer};

use super::report::Report;
use crate::client::{Client, path};
use crate::commands::nearest;
use crate::config::project;
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
        Ok(None) => report.skipped(FILE, "there is no updraft.toml here or above", Some("In a project, run `updraft init`.")),
    }
}

/// Whether variables contradict the project file.
pub(super) fn check_environment(context: &Context, report: &mut Report<'_>) {
    for Contradiction { variable, value, setting, in_file } in context.contradictions() {
        let text = format!("{variable} is {value}, and updraft.toml has {setting} = {in_file}: commands here use {value}");
        report.warning(ENVIRONMENT, text, format!("Unset {variable} to use {in_file}, or correct updraft.toml."));
    }
}

/// Whether the app and the deployment that commands here would use exist. Returns them if they do.
pub(super) async fn check_remote(context: &Context, client: Option<&Client>, report: &mut Report<'_>) -> Option<(String, Deployment)> {
    let given = |variable: &str| std::env::var(variable).ok().filter(|value| !value.is_empty());
    let (given_app, given_deployment) = (given("UPDRAFT_APP"), given("UPDRAFT_DEPLOYMENT"));
    let Ok(app) = context.app(given_app.as_deref()) else {
        report.skipped(APP, "none is set", None);
        report.skipped(DEPLOYMENT, "no app is set", None);
        return None;
    };
    let Some(client) = client else {
        report.skipped(APP, "you are not signed in", None);
        report.skipped(DEPLOYMENT, "you are not signed in", None);
        return None;
    };
    match nearest::app(client, app, client.get::<AppAnswer>(&path(["v1", "apps", app])).await).await {
        Ok(_) => report.ok(APP, app),
        Err(error) => {
            report.failed(APP, &error);
            report.skipped(DEPLOYMENT, "the app was not found", None);
            return None;
        }
    }
    let Ok(deployment) = context.deployment(given_deployment.as_deref()) else {
        report.skipped(DEPLOYMENT, "none is set", None);
        return None;
    };
    let found = client.get::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", deployment])).await;
    match nearest::deployment(client, app, deployment, found).await {
        Ok(answer) => {
            report.ok(DEPLOYMENT, deployment);
            Some((app.to_owned(), answer.value.deployment))
        }
        Err(error) => {
            report.failed(DEPLOYMENT, &error);
            None
        }
    }
}
