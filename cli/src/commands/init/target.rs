//! Server, app and deployment of a project: given by options, found, chosen on the terminal, or created.

use std::collections::BTreeSet;

use shared::api::Field;
use shared::api::apps::{AppAnswer, AppsAnswer, NewApp};
use shared::api::deployments::{Deployment, DeploymentAnswer, DeploymentsAnswer, NewDeployment};
use shared::text::shell;

use super::super::{advice, nearest};
use super::plan::Platform;
use super::progress::Progress;
use crate::client::{Answer, Client, path};
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
    /// The platform that is set up, if it is one.
    pub(super) platform: Option<Platform>,
    /// The app of the other platform, which cannot be this one's.
    pub(super) taken: Option<&'c str>,
    /// A name for a new app.
    pub(super) suggestion: Option<&'c str>,
    /// The deployment keys that the project's files have.
    pub(super) keys: &'c [String],
    /// The deployment keys that only the files of the other platform are to have, if one platform is set up.
    pub(super) other_keys: &'c [String],
    /// The apps that have those; nothing before they are looked for.
    pub(super) of_other: &'c [String],
    /// What Ctrl-C leaves behind.
    pub(super) progress: &'c Progress,
}

/// The entry that is no app.
const NEW_APP: &str = "Create a new app…";
/// How many apps are asked for their keys.
const MAX_ASKED: usize = 30;
/// The rank of an app that is for the other platform, by its name or its keys.
const OF_THE_OTHER: u8 = 4;

/// What was chosen.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The server's URL.
    pub(super) server: String,
    /// The app, as the account names it.
    pub(super) app: String,
    /// The deployment's name.
    pub(super) deployment: String,
    /// The deployment's key.
    pub(super) key: String,
    /// What a dry run would create.
    pub(super) creations: Vec<String>,
}

/// What stands for the key of a deployment that a dry run does not create.
const NEW_KEY: &str = "KEY-OF-THE-NEW-DEPLOYMENT";
/// The deployments that a new app has.
const OF_NEW_APP: [&str; 2] = ["Production", "Staging"];

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
    let server = client.url().to_string();
    let Some(app) = app(context, &client, choice).await? else {
        // A dry run. Only a given name can be missing.
        let app = choice.app.unwrap_or_default().to_owned();
        let deployment = choice.deployment.ok_or_else(deployment_missing)?.to_owned();
        let mut creations = vec![format!("the app {app}")];
        if !OF_NEW_APP.contains(&deployment.as_str()) {
            creations.push(format!("the deployment {deployment}"));
        }
        return Ok(Target { server, app, deployment, key: NEW_KEY.to_owned(), creations });
    };
    if let Some(Deployment { name, key, .. }) = deployment(context, &client, &app, choice).await? {
        return Ok(Target { server, app, deployment: name, key, creations: Vec::new() });
    }
    let deployment = choice.deployment.unwrap_or_default().to_owned();
    let creations = vec![format!("the deployment {deployment}")];
    Ok(Target { server, app, deployment, key: NEW_KEY.to_owned(), creations })
}

fn deployment_missing() -> Error {
    let next = "Add --deployment NAME; with --create it is created.";
    Error::usage("no deployment is given, and there is no terminal to choose on", next)
}

/// The given name, if something has it; `None` if nothing has it and it is to be created.
fn existing<T>(context: &Context, choice: Choice<'_>, found: Result<T>, question: &str) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind == Kind::NotFound => {
            if choice.is_dry && !choice.creates {
                let next = format!("{} Or add --create to see what it would create.", error.next);
                return Err(error.with_next(next));
            }
            // --yes consents to changes of files, not to a misspelled name.
            let is_wanted = choice.creates || (!context.global.yes && prompt::confirm(context, question)?);
            let next = format!("{} Or add --create to create it.", error.next);
            if is_wanted { Ok(None) } else { Err(error.with_next(next)) }
        }
        found => found.map(Some),
    }
}

/// The app's name; `None` if a dry run would create the given one.
async fn app(context: &Context, client: &Client, choice: Choice<'_>) -> Result<Option<String>> {
    if let Some(name) = choice.app {
        let found = nearest::app(client, name, client.get::<AppAnswer>(&path(["v1", "apps", name])).await).await;
        return match existing(context, choice, found, &format!("There is no app {name}. Create it?"))? {
            // The given name may be a long one, which is what the project file should have then.
            Some(_) => Ok(Some(name.to_owned())),
            None if choice.is_dry => Ok(None),
            None => create_app(context, client, choice, name).await.map(Some),
        };
    }
    if !terminal::is_interactive() {
        let next = "Add --app NAME and --deployment NAME. With --create, they are created if they do not exist.";
        return Err(Error::usage("no app is given, and there is no terminal to choose on", next));
    }
    let apps = client.get::<AppsAnswer>("/v1/apps").await?.value.apps;
    let mut choices: Vec<String> = apps.into_iter().map(|app| app.name).filter(|name| Some(name.as_str()) != choice.taken).collect();
    let suggestion = choice.suggestion.filter(|name| !choices.iter().any(|taken| taken == name));
    if !choices.is_empty() {
        choices.sort_by_key(|name| rank(name, choice));
        let (own, of_other) = with_keys(client, &choices, choice).await;
        let choice = Choice { of_other: &of_other, ..choice };
        choices.sort_by_key(|name| rank(name, choice));
        // A key can be in a wrong file: what Enter chooses is never an app of the other platform.
        let known = choices.iter().position(|name| own.contains(name) && rank(name, choice) != OF_THE_OTHER);
        if let Some(place) = known {
            let app = choices.remove(place);
            choices.insert(0, app);
        }
        if !choice.is_dry {
            let place = if known.is_some() { choices.len() } else { place_of_new(&choices, choice) };
            choices.insert(place, NEW_APP.to_owned());
        }
        let index = prompt::choose("Which app?", &choices, "--app NAME")?;
        if let Some(name) = choices.into_iter().nth(index).filter(|name| name != NEW_APP) {
            return Ok(Some(name));
        }
    } else if choice.is_dry {
        return Err(Error::failed(
            "you have no apps, and --dry-run creates none",
            "Add --app NAME --deployment NAME --create to see what it would create, or leave --dry-run out.",
        ));
    }
    loop {
        let name = prompt::text("Name of the new app", suggestion, "--app NAME --create")?;
        match post_app(client, &name).await {
            Err(error) if is_about_the_name(&error) => Context::warn(&format!("{}.", error.what)),
            created => return created_app(context, choice, created).map(Some),
        }
    }
}

/// Whether another name can help: then it is asked for again.
fn is_about_the_name(error: &Error) -> bool {
    error.status() == Some(400) || error.kind == Kind::Conflict
}

/// The apps that have one of the project's keys, and those that have one of the other platform's.
async fn with_keys(client: &Client, apps: &[String], choice: Choice<'_>) -> (Vec<String>, Vec<String>) {
    let (mut own, mut of_other) = (Vec::new(), Vec::new());
    let mut open: BTreeSet<&String> = choice.keys.iter().chain(choice.other_keys).collect();
    for app in apps.iter().take(MAX_ASKED) {
        if open.is_empty() {
            break;
        }
        let answer = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await;
        let found = answer.map(|answer| answer.value.deployments).unwrap_or_default();
        let has_one_of = |keys: &[String]| found.iter().any(|deployment| keys.contains(&deployment.key));
        if has_one_of(choice.keys) {
            own.push(app.clone());
        }
        if has_one_of(choice.other_keys) {
            of_other.push(app.clone());
        }
        open.retain(|key| !found.iter().any(|deployment| deployment.key == **key));
    }
    (own, of_other)
}

/// The place of the entry that creates an app. What Enter chooses must be neither another project's app nor that of the other platform.
fn place_of_new(sorted: &[String], choice: Choice<'_>) -> usize {
    let is_of_the_other = |name: &str| rank(name, choice) == OF_THE_OTHER;
    if !sorted.first().is_some_and(|first| is_named(first, choice) && !is_of_the_other(first)) {
        return 0;
    }
    sorted.iter().position(|name| is_of_the_other(name)).unwrap_or(sorted.len())
}

/// Whether an app has the project's name, apart from the platforms' names, case and punctuation.
fn is_named(app: &str, choice: Choice<'_>) -> bool {
    let core = |name: &str| {
        let name = name.to_lowercase();
        let name = Platform::ALL.iter().fold(name, |name, platform| name.replace(platform.name(), ""));
        name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>()
    };
    // An app of somebody else has the owner before its name.
    let own = app.rsplit([':', '/']).next().unwrap_or(app);
    choice.suggestion.map(core).is_some_and(|name| !name.is_empty() && core(own) == name)
}

/// The place of an app in the list: the one that is meant probably comes first, one of the other platform last.
fn rank(name: &str, choice: Choice<'_>) -> u8 {
    let name = name.to_lowercase();
    let has = |platform: Platform| name.contains(platform.name());
    match choice.platform {
        _ if choice.suggestion.is_some_and(|suggestion| suggestion.to_lowercase() == name) => 0,
        _ if choice.of_other.iter().any(|other| other.to_lowercase() == name) => OF_THE_OTHER,
        Some(platform) if has(platform.other()) && !has(platform) => OF_THE_OTHER,
        _ if is_named(&name, choice) => 1,
        Some(platform) if has(platform) => 2,
        _ => 3,
    }
}

async fn create_app(context: &Context, client: &Client, choice: Choice<'_>, name: &str) -> Result<String> {
    created_app(context, choice, advice::in_options(post_app(client, name).await, &[("name", "--app")]))
}

async fn post_app(client: &Client, name: &str) -> Result<Answer<AppAnswer>> {
    let body = NewApp { name: Field::from(name.to_owned()), manually_provision_deployments: Field::Missing };
    client.post::<AppAnswer>("/v1/apps", &body).await
}

/// Says that an app was created. Returns its name.
fn created_app(context: &Context, choice: Choice<'_>, created: Result<Answer<AppAnswer>>) -> Result<String> {
    let created = advice::forbidden(created, "An API key needs the scope `apps` to create apps. Or create it on the dashboard.");
    let answer =
        advice::conflict(created, || "Choose another name, or the existing app with --app. `updraft app list` shows them.".to_owned())?;
    context.done(&format!("Created the app {}.", answer.value.app.name));
    choice.progress.created(format!("the app {}", answer.value.app.name));
    Ok(answer.value.app.name)
}

/// The deployment; `None` if a dry run would create the given one.
async fn deployment(context: &Context, client: &Client, app: &str, choice: Choice<'_>) -> Result<Option<Deployment>> {
    if let Some(name) = choice.deployment {
        let found = client.get::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", name])).await;
        let found = nearest::deployment(client, app, name, found).await;
        return match existing(context, choice, found, &format!("{app} has no deployment {name}. Create it?"))? {
            Some(answer) => Ok(Some(answer.value.deployment)),
            None if choice.is_dry => Ok(None),
            None => create_deployment(context, client, choice, app, name).await.map(Some),
        };
    }
    if !terminal::is_interactive() {
        return Err(deployment_missing());
    }
    let list = client.get::<DeploymentsAnswer>(&path(["v1", "apps", app, "deployments"])).await;
    let mut deployments = nearest::app(client, app, list).await?.value.deployments;
    deployments.sort_by_key(|deployment| !choice.keys.contains(&deployment.key));
    let free = OF_NEW_APP.into_iter().find(|name| !deployments.iter().any(|deployment| deployment.name == *name));
    if !deployments.is_empty() {
        let mut choices: Vec<String> = deployments.iter().map(|deployment| deployment.name.clone()).collect();
        if !choice.is_dry {
            choices.push("Create a new deployment…".to_owned());
        }
        let index = prompt::choose("Which deployment?", &choices, "--deployment NAME")?;
        if let Some(deployment) = deployments.into_iter().nth(index) {
            return Ok(Some(deployment));
        }
    } else if choice.is_dry {
        let option = shell::option("--app", app);
        let next = format!("Leave --dry-run out, or run `updraft deployment create NAME {option}`.");
        return Err(Error::failed(format!("{app} has no deployments, and --dry-run creates none"), next));
    }
    loop {
        let name = prompt::text("Name of the new deployment", free, "--deployment NAME --create")?;
        match post_deployment(client, app, &name).await {
            Err(error) if is_about_the_name(&error) => Context::warn(&format!("{}.", error.what)),
            created => return created_deployment(context, choice, app, created).map(Some),
        }
    }
}

async fn create_deployment(context: &Context, client: &Client, choice: Choice<'_>, app: &str, name: &str) -> Result<Deployment> {
    created_deployment(context, choice, app, advice::in_options(post_deployment(client, app, name).await, &[("name", "--deployment")]))
}

async fn post_deployment(client: &Client, app: &str, name: &str) -> Result<Answer<DeploymentAnswer>> {
    let body = NewDeployment { name: Field::from(name.to_owned()), key: Field::Missing };
    client.post::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments"]), &body).await
}

/// Says that a deployment was created. Returns it.
fn created_deployment(context: &Context, choice: Choice<'_>, app: &str, created: Result<Answer<DeploymentAnswer>>) -> Result<Deployment> {
    let answer = advice::conflict(advice::forbidden(created, advice::APP_MANAGERS), || {
        format!("Run `updraft deployment list {}`, and choose one with --deployment.", shell::option("--app", app))
    })?;
    context.done(&format!("Created the deployment {}.", answer.value.deployment.name));
    choice.progress.created(format!("the deployment {} of {app}", answer.value.deployment.name));
    Ok(answer.value.deployment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_app_that_is_meant_comes_first_and_that_of_the_other_platform_last() {
        let progress = Progress::new();
        let mut choice = Choice {
            app: None,
            deployment: None,
            creates: false,
            is_dry: false,
            platform: Some(Platform::Ios),
            taken: None,
            suggestion: Some("Weather-ios"),
            keys: &[],
            other_keys: &[],
            of_other: &[],
            progress: &progress,
        };
        let sorted = |choice: Choice<'_>, names: &[&str]| {
            let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            names.sort_by_key(|name| rank(name, choice));
            names
        };
        let names = ["Android-Weather", "Other", "Radar-iOS", "weather-ios"];
        assert_eq!(sorted(choice, &names), ["weather-ios", "Radar-iOS", "Other", "Android-Weather"]);
        choice.platform = Some(Platform::Android);
        choice.suggestion = None;
        assert_eq!(sorted(choice, &names), ["Android-Weather", "Other", "Radar-iOS", "weather-ios"]);
        choice.platform = None;
        assert_eq!(sorted(choice, &names), names);
        // Enter creates an app, unless one has the project's name.
        let place = |choice: Choice<'_>, names: &[&str]| place_of_new(&sorted(choice, names), choice);
        assert_eq!(place(choice, &names), 0);
        choice.platform = Some(Platform::Ios);
        choice.suggestion = Some("Fresh-ios");
        assert_eq!(place(choice, &["Other", "Sample-android", "Sample-ios", "Refresh-ios"]), 0);
        assert_eq!(place(choice, &["Fresh-android", "Sample-ios"]), 0);
        assert_eq!(place(choice, &["Fresh-android", "Sample-ios", "bob@example.com:fresh_iOS"]), 2);
        assert_eq!(place(choice, &["Fresh", "Other"]), 2);
    }
}
