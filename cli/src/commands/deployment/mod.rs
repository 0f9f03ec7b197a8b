//! `updraft deployment`: the deployments of an app.

mod list;
mod sdk;

use clap::Subcommand;
use serde_json::Value;
use shared::api::Field;
use shared::api::deployments::{Deployment, DeploymentAnswer, DeploymentPatch, NewDeployment};
use shared::text::shell;

use super::{advice, nearest};
use crate::arguments::AppOption;
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::table::Details;
use crate::output::{prompt, times};

/// What the API shows instead of the key to callers without `deploymentKeys.read`.
const HIDDEN_KEY: &str = "(hidden)";

/// Commands on deployments.
#[derive(Debug, Subcommand)]
pub(crate) enum DeploymentCommand {
    /// List the deployments of an app: current release, rollout, devices and failures.
    #[command(visible_alias = "ls", after_help = "Examples:\n  updraft deployment list\n  updraft deployment list -a my-app --output json")]
    List {
        /// The app.
        #[command(flatten)]
        app: AppOption,
    },
    /// Show a deployment, with its key and the lines for the SDK's configuration.
    #[command(after_help = "Examples:\n  updraft deployment show\n  updraft deployment show Staging -a my-app")]
    Show {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The deployment. Default: the one in updraft.toml.
        #[arg(value_name = "NAME", env = "UPDRAFT_DEPLOYMENT")]
        name: Option<String>,
        /// The deployment, as other commands take it.
        #[arg(long, short, value_name = "NAME", hide = true)]
        deployment: Option<String>,
    },
    /// Create a deployment.
    #[command(
        after_help = "Examples:\n  updraft deployment create Beta\n  updraft deployment create Production --key KEY-OF-INSTALLED-APPS"
    )]
    Create {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// Its name.
        name: String,
        /// The deployment key that installed apps already have: 10 to 100 letters, digits, - and _. Default: a new one.
        #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
        key: Option<String>,
    },
    /// Rename a deployment. Its key stays the same, so devices are not affected.
    #[command(after_help = "Example:\n  updraft deployment rename Beta Canary")]
    Rename {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The deployment.
        name: String,
        /// Its new name.
        new_name: String,
    },
    /// Delete a deployment with its releases and metrics. Devices with its key get no more updates.
    #[command(visible_alias = "rm", after_help = "Example:\n  updraft deployment delete Beta")]
    Delete {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The deployment.
        name: String,
    },
    /// Delete all releases and metrics of a deployment. It keeps its key, and labels continue.
    #[command(after_help = "Example:\n  updraft deployment clear Staging")]
    Clear {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The deployment.
        name: String,
    },
}

impl DeploymentCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List { app } => list::run(context, app.app.as_deref()).await,
            Self::Show { app, name, deployment } => {
                // The argument can come from the variable, which an option beats.
                let variable = std::env::var("UPDRAFT_DEPLOYMENT").ok();
                if let (Some(name), Some(other)) = (&name, &deployment)
                    && name != other
                    && variable.as_ref() != Some(name)
                {
                    let what = format!("the deployment is named twice: {name}, and {other} by --deployment");
                    return Err(Error::usage(what, "Leave one of them out."));
                }
                show(context, app.app.as_deref(), deployment.or(name).as_deref()).await
            }
            Self::Create { app, name, key } => create(context, app.app.as_deref(), name, key).await,
            Self::Rename { app, name, new_name } => rename(context, app.app.as_deref(), &name, new_name).await,
            Self::Delete { app, name } => delete(context, app.app.as_deref(), &name).await,
            Self::Clear { app, name } => clear(context, app.app.as_deref(), &name).await,
        }
    }
}

async fn show(context: &Context, app: Option<&str>, name: Option<&str>) -> Result<()> {
    let client = context.client()?;
    let (app, name) = (context.app(app)?, context.deployment(name).map_err(name_missing)?);
    let found = client.get::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", name])).await;
    let answer = nearest::deployment(&client, app, name, found).await?;
    context.show(&answer.json, || {
        print(app, &answer.value.deployment);
        sdk::print(client.url(), &answer.value.deployment.key);
    });
    if answer.value.deployment.key == HIDDEN_KEY {
        context.note("The key is hidden: the role Developer or Admin can read it, or an API key with the scope `deploy` or `apps`.");
    }
    Ok(())
}

/// `show` takes the deployment as an argument, not as an option.
fn name_missing(error: Error) -> Error {
    error.with_next("Add its name, set UPDRAFT_DEPLOYMENT, or run `updraft init`. `updraft deployment list` shows them.")
}

async fn create(context: &Context, app: Option<&str>, name: String, key: Option<String>) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    let body = NewDeployment { name: Field::from(name), key: Field::from(key) };
    let created = client.post::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments"]), &body).await;
    let created = advice::in_options(created, &[("name", "NAME"), ("key", "--key")]);
    let created = advice::conflict(advice::forbidden(created, advice::APP_MANAGERS), || {
        let option = shell::option("--app", app);
        format!("`updraft deployment list {option}` shows the names. A key belongs to one deployment: leave out --key for a new one.")
    });
    let answer = nearest::app(&client, app, created).await?;
    context.done(&format!("Created the deployment {}.", answer.value.deployment.name));
    context.show(&answer.json, || print(app, &answer.value.deployment));
    Ok(())
}

async fn rename(context: &Context, app: Option<&str>, name: &str, new_name: String) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    let body = DeploymentPatch { name: Field::from(new_name) };
    let renamed = client.patch::<DeploymentAnswer>(&path(["v1", "apps", app, "deployments", name]), &body).await;
    let renamed = advice::in_options(renamed, &[("name", "NEW_NAME")]);
    let renamed = advice::conflict(advice::forbidden(renamed, advice::APP_MANAGERS), || {
        format!("Choose another name. `updraft deployment list {}` shows those in use.", shell::option("--app", app))
    });
    let answer = nearest::deployment(&client, app, name, renamed).await?;
    if let Some(answer) = &answer {
        context.done(&format!("Renamed {name} to {}.", answer.value.deployment.name));
    }
    context.show(answer.as_ref().map_or(&Value::Null, |answer| &answer.json), || {});
    Ok(())
}

async fn delete(context: &Context, app: Option<&str>, name: &str) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    prompt::confirm_by_name(context, &format!("deletes the deployment {name} of {app} with its releases and metrics"), name)?;
    let deleted = client.delete(&path(["v1", "apps", app, "deployments", name])).await;
    let json = nearest::deployment(&client, app, name, advice::forbidden(deleted, advice::APP_MANAGERS)).await?;
    context.done(&format!("Deleted the deployment {name} of {app}."));
    context.show(&json, || {});
    Ok(())
}

async fn clear(context: &Context, app: Option<&str>, name: &str) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    prompt::confirm_by_name(context, &format!("deletes all releases and metrics of the deployment {name} of {app}"), name)?;
    let cleared = client.delete(&path(["v1", "apps", app, "deployments", name, "history"])).await;
    let json = nearest::deployment(&client, app, name, advice::forbidden(cleared, advice::APP_MANAGERS)).await?;
    context.done(&format!("Cleared the deployment {name} of {app}."));
    context.show(&json, || {});
    Ok(())
}

/// The state of a deployment's newest release, in a word or two.
fn rollout(deployment: &Deployment) -> String {
    match &deployment.package {
        None => "-".to_owned(),
        Some(release) if release.is_disabled => "disabled".to_owned(),
        Some(release) => format!("{}%", release.rollout.unwrap_or(100)),
    }
}

fn print(app: &str, deployment: &Deployment) {
    let mut details = Details::new();
    details.add("Deployment", &*deployment.name).add("App", app).add("Key", &*deployment.key);
    details.add("Created", times::time(deployment.created_time));
    if let Some(release) = &deployment.package {
        details.add("Release", release.label.to_string()).add("Target versions", &*release.app_version);
        details.add("Rollout", rollout(deployment)).add("Mandatory", if release.is_mandatory { "yes" } else { "no" });
        details.add("Released", format!("{} by {}", times::time(release.upload_time), release.released_by));
        details.add_some("Description", release.description.as_deref().filter(|text| !text.is_empty()));
    }
    details.print();
}
