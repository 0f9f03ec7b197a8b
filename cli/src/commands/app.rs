//! `updraft app`: apps.

use clap::{Args, Subcommand};
use serde_json::Value;
use shared::api::Field;
use shared::api::apps::{App, AppAnswer, AppPatch, AppsAnswer, NewApp, Role};
use shared::api::audit::AuditAnswer;

use super::{activity, advice, nearest};
use crate::arguments::{AppOption, number};
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::prompt;
use crate::output::table::{Details, Table};
use crate::output::times;

/// Commands on apps.
#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// List your apps.
    #[command(visible_alias = "ls", after_help = "Examples:\n  updraft app list\n  updraft app list --output json")]
    List,
    /// Show an app.
    #[command(after_help = "Examples:\n  updraft app show\n  updraft app show ada@example.com:my-app")]
    Show {
        /// The app. Default: the one in updraft.toml.
        #[arg(value_name = "APP", env = "UPDRAFT_APP", hide_env_values = true)]
        app: Option<String>,
        #[command(flatten)]
        option: NamedByOption,
    },
    /// Create an app with the deployments Production and Staging.
    #[command(after_help = "Example:\n  updraft app create my-app")]
    Create {
        /// Its name.
        name: String,
        /// Create it without deployments.
        #[arg(long)]
        no_deployments: bool,
    },
    /// Rename an app.
    #[command(
        override_usage = "updraft app rename [OPTIONS] <APP> <NEW_NAME>",
        after_help = "Example:\n  updraft app rename my-app my-new-app"
    )]
    Rename {
        /// The app.
        app: String,
        /// Its new name.
        #[arg(required_unless_present = "app-option")]
        new_name: Option<String>,
        #[command(flatten)]
        option: NamedByOption,
    },
    /// Delete an app with its deployments, releases and metrics.
    #[command(
        visible_alias = "rm",
        override_usage = "updraft app delete [OPTIONS] <APP>",
        after_help = "Examples:\n  updraft app delete my-app\n  updraft app delete my-app --yes"
    )]
    Delete {
        /// The app.
        #[arg(required_unless_present = "app-option")]
        app: Option<String>,
        #[command(flatten)]
        option: NamedByOption,
    },
    /// Transfer an app to another account. You become an Admin.
    #[command(after_help = "Example:\n  updraft app transfer my-app grace@example.com")]
    Transfer {
        /// The app.
        app: String,
        /// The email address of the account.
        email: String,
    },
    /// Show who changed what in an app.
    #[command(after_help = "Examples:\n  updraft app activity -a my-app\n  updraft app activity -a my-app --limit 100 --output json")]
    Activity {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// How many changes to show, newest first.
        #[arg(long, default_value_t = 20, value_parser = number::<1, 100>)]
        limit: u16,
    },
}

/// The app as an option, as most other commands take it.
#[derive(Debug, Args)]
pub(crate) struct NamedByOption {
    /// The app, instead of as an argument.
    #[arg(id = "app-option", long = "app", short = 'a', value_name = "NAME", hide = true)]
    name: Option<String>,
}

impl NamedByOption {
    /// The app, if only one of both names it. Errors: usage (2).
    fn or(self, argument: Option<String>) -> Result<Option<String>> {
        match (self.name, argument) {
            (Some(name), Some(argument)) if argument != name => {
                let next = "Leave one of them out.";
                Err(Error::usage(format!("the app is named twice: {argument}, and {name} by --app"), next))
            }
            (Some(name), _) => Ok(Some(name)),
            (None, argument) => Ok(argument),
        }
    }
}

impl AppCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => list(context).await,
            Self::Show { app, option } => {
                // The argument can come from the variable, which an option beats.
                let is_variable = option.name.is_some() && app == std::env::var("UPDRAFT_APP").ok();
                show(context, option.or(app.filter(|_| !is_variable))?.as_deref()).await
            }
            Self::Create { name, no_deployments } => create(context, name, no_deployments).await,
            Self::Rename { app, new_name: Some(new_name), option } => {
                rename(context, &option.or(Some(app))?.unwrap_or_default(), new_name).await
            }
            // With the option, the only argument is the new name.
            Self::Rename { app: new_name, new_name: None, option } => rename(context, &option.name.unwrap_or_default(), new_name).await,
            Self::Delete { app, option } => delete(context, &option.or(app)?.unwrap_or_default()).await,
            Self::Transfer { app, email } => transfer(context, &app, &email).await,
            Self::Activity { app, limit } => activity(context, app.app.as_deref(), limit).await,
        }
    }
}

async fn list(context: &Context) -> Result<()> {
    let client = context.client()?;
    let answer = client.get::<AppsAnswer>("/v1/apps").await?;
    context.show(&answer.json, || {
        let mut table = Table::new(["app", "role", "deployments", "created"])
            .when_empty("You have no apps. Create one: updraft app create NAME")
            .optional(["created", "role"]);
        for app in &answer.value.apps {
            table.row([app.name.clone(), role(app).to_owned(), app.deployments.join(", "), times::time(app.created_time)]);
        }
        table.print();
    });
    Ok(())
}

async fn show(context: &Context, app: Option<&str>) -> Result<()> {
    let client = context.client()?;
    let name = context.app(app)?;
    let answer = nearest::app(&client, name, client.get::<AppAnswer>(&path(["v1", "apps", name])).await).await?;
    context.show(&answer.json, || print(&answer.value.app));
    Ok(())
}

async fn create(context: &Context, name: String, no_deployments: bool) -> Result<()> {
    let client = context.client()?;
    let body = NewApp { name: Field::from(name), manually_provision_deployments: Field::from(no_deployments) };
    let created = advice::in_options(client.post::<AppAnswer>("/v1/apps", &body).await, &[("name", "NAME")]);
    let answer = advice::conflict(created, || "Choose another name. `updraft app list` shows your apps.".to_owned())?;
    context.done(&format!("Created the app {}.", answer.value.app.name));
    context.show(&answer.json, || print(&answer.value.app));
    Ok(())
}

async fn rename(context: &Context, app: &str, new_name: String) -> Result<()> {
    let client = context.client()?;
    let body = AppPatch { name: Field::from(new_name) };
    let renamed = advice::in_options(client.patch::<AppAnswer>(&path(["v1", "apps", app]), &body).await, &[("name", "NEW_NAME")]);
    let renamed = advice::conflict(advice::forbidden(renamed, advice::APP_MANAGERS), || {
        "Choose another name. `updraft app list` shows your apps.".to_owned()
    });
    let answer = nearest::app(&client, app, renamed).await?;
    if let Some(answer) = answer {
        context.done(&format!("Renamed {app} to {}.", answer.value.app.name));
        context.show(&answer.json, || {});
    } else {
        context.note("Nothing changed.");
        context.show(&Value::Null, || {});
    }
    Ok(())
}

async fn delete(context: &Context, app: &str) -> Result<()> {
    let client = context.client()?;
    prompt::confirm_by_name(context, &format!("deletes the app {app} with its deployments, releases and metrics"), app)?;
    let deleted = advice::forbidden(client.delete(&path(["v1", "apps", app])).await, advice::OWNER);
    let json = nearest::app(&client, app, deleted).await?;
    context.done(&format!("Deleted the app {app}."));
    context.show(&json, || {});
    Ok(())
}

async fn transfer(context: &Context, app: &str, email: &str) -> Result<()> {
    advice::is_address(email)?;
    let client = context.client()?;
    prompt::confirm_by_name(context, &format!("gives the app {app} to {email}"), app)?;
    let transferred = client.post::<AppAnswer>(&path(["v1", "apps", app, "transfer", email]), &Value::Object(serde_json::Map::new())).await;
    let transferred = advice::forbidden(advice::no_account(transferred, email), advice::OWNER);
    let answer = nearest::app(&client, app, transferred).await?;
    context.done(&format!("{email} owns {app} now, and has to accept it. You are an Admin."));
    context.show(&answer.json, || {});
    Ok(())
}

async fn activity(context: &Context, app: Option<&str>, limit: u16) -> Result<()> {
    let client = context.client()?;
    let name = context.app(app)?;
    let path = format!("{}?limit={limit}", path(["v1", "apps", name, "audit"]));
    let events = advice::forbidden(client.get::<AuditAnswer>(&path).await, advice::APP_MANAGERS);
    let answer = nearest::app(&client, name, events).await?;
    context.show(&answer.json, || {
        let people = activity::people(&answer.value.events);
        let mut table =
            Table::new(["time", "who", "action", "about", "from"]).when_empty("Nothing was changed yet.").optional(["from", "time"]);
        for event in &answer.value.events {
            let who = event.account.as_ref().map_or_else(
                || event.credential.kind.clone(),
                |account| account.email.clone().unwrap_or_else(|| "deleted account".to_owned()),
            );
            let from = event.client_address.clone().unwrap_or_default();
            table.row([times::time(event.time), who, event.action.clone(), activity::about(event, &people), from]);
        }
        table.print();
    });
    Ok(())
}

/// The caller's role.
fn role(app: &App) -> &'static str {
    let mine = app.collaborators.values().find(|collaborator| collaborator.is_current_account);
    match mine.map(|collaborator| collaborator.permission) {
        Some(Role::Owner) => "Owner",
        Some(Role::Admin) => "Admin",
        Some(Role::Developer) => "Developer",
        Some(Role::Viewer) => "Viewer",
        None => "",
    }
}

fn print(app: &App) {
    let mut details = Details::new();
    details.add("App", &*app.name).add("Your role", role(app)).add("Deployments", app.deployments.join(", "));
    details.add("Collaborators", app.collaborators.keys().cloned().collect::<Vec<_>>().join(", "));
    details.add("Created", times::time(app.created_time));
    details.print();
}
