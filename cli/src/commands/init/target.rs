//! Server, app and deployment of a project: given by options, found, chosen on the terminal, or created.

use shared::api::Field;
use shared::api::apps::{AppAnswer, AppsAnswer, NewApp};
use shared::api::deployments::{Deployment, DeploymentAnswer, DeploymentsAnswer, NewDeployment};

use super::super::{advice, nearest};
use crate::client::{Client, path};
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::{prompt, terminal};

/// How to choose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'c> {
    /// The app of the options or the project file.
    pub(super) app: Option<&'c str>,
    /// The deployment of the options or the project file.
    pub(super) deployment: Option<&'c str>,
    /// Whether to create without asking what is missing.
    pub(super) creates: bool,
    /// Whether nothing may be created.
    pub(super) is_dry: bool,
    /// A name for a new app.
    pub(super) suggestion: Option<&'c str>,
}

/// What was chosen.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The server's URL.
    pub(super) server: String,
    /// The app, as the account names it.
    pub(super) app: String,
    /// The deployment.
    pub(super) deployment: Deployment,
}

/// The context with a server: if several are known and none is given, the one that is chosen.
pub(super) fn server(context: &Context) -> Result<Context> {
    let is_given = context.global.server.is_some() || context.project.as_ref().is_some_and(|found| found.project.server.is_some());
    let mut global = context.global.clone();
    if !is_given && context.user.servers.len() > 1 && terminal::is_interactive() {
        let mut names: Vec<&String> = context.user.servers.keys().collect();
        // The first one is preselected.
        names.sort_by_key(|name| Some(name.as_str()) != context.user.default_server.as_deref());
        let choices: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
        let index = prompt::choose("Which server?", &choices, "--server NAME|URL")?;
        global.server = choices.into_iter().nth(index);
    }
    Ok(Context { global, user: context.user.clone(), project: context.project.clone() })
}

/// Chooses app and deployment.
pub(super) async fn choose(context: &Context, choice: Choice<'_>) -> Result<Target> {
    let client = context.client()?;
    let app = app(context, &client, choice).await?;
    let deployment = deployment(context, &client, &app, choice).await?;
    Ok(Target { server: client.url().to_string(), app, deployment })
}

/// The given name, if something has it; `None` if nothing has it and it is to be created.
fn existing<T>(context: &Context, choice: Choice<'_>, found: Result<T>, question: &str) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind == Kind::NotFound => {
            if choice.is_dry {
                return Err(error.with_next("--dry-run creates nothing: leave it out, or choose what exists."));
            }
            // --yes consents to changes of files, not to a misspelled name.
            let is_wanted = choice.creates || (!context.global.yes && prompt::confirm(context, question)?);
            let next = format!("{} Or add --create to create it.", error.next);
            if is_wanted { Ok(None) } else { Err(error.with_next(next)) }
        }
        found => found.map(Some),
    }
}

async fn app(context: &Context, client: &Client, choice: Choice<'_>) -> Result<String> {
    if let Some(name) = choice.app {
        let found = nearest::app(client, name, client.get::<AppAnswer>(&path(["v1", "apps", name])).await).await;
        return match existing(context, choice, found, &format!("There is no app {name}. Create it?"))? {
            // The given name may be a long one, which is what the project file should have then.
            Some(_) => Ok(name.to_owned()),
            None => create_app(context, client, name).await,
        };
    }
    if !terminal::is_interactive() {
        return Err(Error::usage("no app is given, and there is no terminal to choose on", "Add --app NAME; with --create it is created."));
    }
    let apps = client.get::<AppsAnswer>("/v1/apps").await?.value.apps;
    let mut choices: Vec<String> = apps.into_iter().map(|app| app.name).collect();
    if !choices.is_empty() {
        let count = choices.len();
        if !choice.is_dry {
            choices.push("Create a new app…".to_owned());
        }
        let index = prompt::choose("Which app?", &choices, "--app NAME")?;
        if let Some(name) = choices.into_iter().take(count).nth(index) {
            return Ok(name);
        }
    } else if choice.is_dry {
        return Err(Error::failed(
            "you have no apps, and --dry-run creates none",
            "Leave --dry-run out, or run `updraft app create NAME`.",
        ));
    }
    let name = prompt::text("Name of the new app", choice.suggestion, "--app NAME --create")?;
    create_app(context, client, &name).await
}

async fn create_app(context: &Context, client: &Client, name: &str) -> Result<String> {
    let body = NewApp { name: Field::from(name.to_owned()), manually_provision_deployments: Field::Missing };
    let created = advice::forbidden(
        client.post::<AppAnswer>("/v1/apps", &body).await,
        "An API key needs the scope `apps` to create apps. Or create it on the dashboard.",
    );
    let answer =
        advice::conflict(created, || "Choose another name, or the existing app with --app. `updraft app list` shows them.".to_owned())?;
    context.done(&format!("Created the app {}.", answer.value.app.name));
    Ok(answer.value.app.name)
}

async fn deployment(context: &Context, client: &Client, app: &str, choice: Choice<'_>) -> Result<Deployment> {
    if let Some(name) = choice.deployment {
        let found = client.get::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", name])).await;
        let found = nearest::deployment(client, app, name, found).await;
        return match existing(context, choice, found, &format!("{app} has no deployment {name}. Create it?"))? {
            Some(answer) => Ok(answer.value.deployment),
            None => create_deployment(context, client, app, name).await,
        };
    }
    if !terminal::is_interactive() {
        let next = "Add --deployment NAME; with --create it is created.";
        return Err(Error::usage("no deployment is given, and there is no terminal to choose on", next));
    }
    let list = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await;
    let deployments = nearest::app(client, app, list).await?.value.deployments;
    if !deployments.is_empty() {
        let mut choices: Vec<String> = deployments.iter().map(|deployment| deployment.name.clone()).collect();
        if !choice.is_dry {
            choices.push("Create a new deployment…".to_owned());
        }
        let index = prompt::choose("Which deployment?", &choices, "--deployment NAME")?;
        if let Some(deployment) = deployments.into_iter().nth(index) {
            return Ok(deployment);
        }
    } else if choice.is_dry {
        let next = format!("Leave --dry-run out, or run `updraft deployment create NAME --app {app}`.");
        return Err(Error::failed(format!("{app} has no deployments, and --dry-run creates none"), next));
    }
    let name = prompt::text("Name of the new deployment", Some("Production"), "--deployment NAME --create")?;
    create_deployment(context, client, app, &name).await
}

async fn create_deployment(context: &Context, client: &Client, app: &str, name: &str) -> Result<Deployment> {
    let body = NewDeployment { name: Field::from(name.to_owned()), key: Field::Missing };
    let created = client.post::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments"]), &body).await;
    let answer = advice::conflict(advice::forbidden(created, advice::APP_MANAGERS), || {
        format!("Run `updraft deployment list --app {app}`, and choose one with --deployment.")
    })?;
    context.done(&format!("Created the deployment {}.", answer.value.deployment.name));
    Ok(answer.value.deployment)
}
