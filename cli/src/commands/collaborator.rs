//! `updraft collaborator`: who has access to an app.

use clap::{Subcommand, ValueEnum};
use serde_json::Value;
use shared::api::Field;
use shared::api::apps::{AppAnswer, Role};
use shared::api::collaborators::{
    Acceptance, AssignableRole, AwaitedCollaborator, CollaboratorAnswer, CollaboratorPatch, CollaboratorsAnswer, NewCollaborator,
};
use shared::text::shell;

use super::{advice, nearest};
use crate::arguments::AppOption;
use crate::client::{Answer, Client, path};
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::prompt;
use crate::output::table::Table;

/// Commands on collaborators.
#[derive(Debug, Subcommand)]
pub(crate) enum CollaboratorCommand {
    /// List who has access to an app.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft collaborator list -a my-app")]
    List {
        /// The app.
        #[command(flatten)]
        app: AppOption,
    },
    /// Share an app with somebody who has an account.
    #[command(
        after_help = "Examples:\n  updraft collaborator add grace@example.com\n  updraft collaborator add joan@example.com --role Viewer"
    )]
    Add {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The email address of the account.
        email: String,
        /// The role.
        #[arg(long, value_enum, ignore_case = true, default_value_t = RoleOption::Developer)]
        role: RoleOption,
    },
    /// Change somebody's role.
    #[command(after_help = "Example:\n  updraft collaborator edit grace@example.com --role Admin")]
    Edit {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The email address of the account.
        email: String,
        /// The new role.
        #[arg(long, value_enum, ignore_case = true)]
        role: RoleOption,
    },
    /// Remove somebody's access to an app, also that of somebody without an account, whom an import awaits.
    #[command(visible_alias = "rm", after_help = "Example:\n  updraft collaborator remove grace@example.com -a my-app")]
    Remove {
        /// The app.
        #[command(flatten)]
        app: AppOption,
        /// The email address of the account.
        email: String,
    },
    /// Accept an app that was shared with you or transferred to you.
    #[command(
        after_help = "Examples:\n  updraft collaborator accept ada@example.com:my-app\n  updraft collaborator accept ada@example.com:my-app --name their-app"
    )]
    Accept {
        /// The app, as `updraft app list` shows it.
        app: String,
        /// Another name for an app that was transferred to you.
        #[arg(long, value_name = "NEW")]
        name: Option<String>,
    },
    /// Leave an app that somebody shared with you.
    #[command(after_help = "Example:\n  updraft collaborator leave ada@example.com:my-app")]
    Leave {
        /// The app.
        app: String,
    },
}

/// A role that can be given.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "verbatim")]
pub(crate) enum RoleOption {
    /// Also manages deployments and collaborators.
    Admin,
    /// Publishes, promotes and rolls back.
    Developer,
    /// Reads.
    Viewer,
}

impl From<RoleOption> for AssignableRole {
    fn from(role: RoleOption) -> Self {
        match role {
            RoleOption::Admin => Self::Admin,
            RoleOption::Developer => Self::Developer,
            RoleOption::Viewer => Self::Viewer,
        }
    }
}

impl CollaboratorCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List { app } => list(context, app.app.as_deref()).await,
            Self::Add { app, email, role } => add(context, app.app.as_deref(), &email, role).await,
            Self::Edit { app, email, role } => edit(context, app.app.as_deref(), &email, role).await,
            Self::Remove { app, email } => remove(context, app.app.as_deref(), &email).await,
            Self::Accept { app, name } => accept(context, &app, name).await,
            Self::Leave { app } => leave(context, &app).await,
        }
    }
}

async fn list(context: &Context, app: Option<&str>) -> Result<()> {
    let client = context.client()?;
    let answer = read(&client, context.app(app)?).await?;
    context.show(&answer.json, || {
        let mut people: Vec<_> = answer.value.collaborators.iter().collect();
        // Stable: within a role, they stay sorted by address.
        people.sort_by_key(|(_, collaborator)| rank(collaborator.permission));
        let mut table = Table::new(["email", "role", ""]);
        for (email, collaborator) in people {
            table.row([email.as_str(), name(collaborator.permission), if collaborator.is_current_account { "you" } else { "" }]);
        }
        for AwaitedCollaborator { email, permission, expires } in &answer.value.awaited {
            table.row([email.as_str(), name(*permission), &format!("awaited until {}", expires.utc_date())]);
        }
        table.print();
    });
    Ok(())
}

async fn read(client: &Client, app: &str) -> Result<Answer<CollaboratorsAnswer>> {
    nearest::app(client, app, client.get(&path(["v1", "apps", app, "collaborators"])).await).await
}

async fn add(context: &Context, app: Option<&str>, email: &str, role: RoleOption) -> Result<()> {
    advice::is_address(email)?;
    let client = context.client()?;
    let app = context.app(app)?;
    let body = NewCollaborator { permission: Field::from(AssignableRole::from(role)), step_up: Field::Missing };
    let added = client.post::<CollaboratorAnswer>(&path(["v1", "apps", app, "collaborators", email]), &body).await;
    let added = advice::conflict(managed(added), || {
        let (email, option) = (shell::quoted(email), shell::option("--app", app));
        format!("`updraft collaborator edit {email} --role ROLE {option}` changes a role.")
    });
    let answer = nearest::app(&client, app, advice::no_account(added, email)).await?;
    context.done(&format!("{email} is {} of {app} now, and gets an email.", a(answer.value.collaborator.permission)));
    let seen = seen_as(&client, app).await;
    context.note(&format!("They see it as {seen} until they accept it: `updraft collaborator accept {}`", shell::quoted(&seen)));
    context.show(&answer.json, || {});
    Ok(())
}

/// The app's name for somebody who has not accepted it: with its owner.
async fn seen_as(client: &Client, app: &str) -> String {
    if app.contains(':') {
        return app.to_owned();
    }
    let people = read(client, app).await.map(|answer| answer.value.collaborators).unwrap_or_default();
    let owner = people.iter().find(|(_, collaborator)| collaborator.permission == Role::Owner).map(|(email, _)| email.as_str());
    format!("{}:{app}", owner.unwrap_or("OWNER"))
}

async fn edit(context: &Context, app: Option<&str>, email: &str, role: RoleOption) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    let body = CollaboratorPatch { permission: Field::from(AssignableRole::from(role)), step_up: Field::Missing };
    let edited = client.patch::<CollaboratorAnswer>(&path(["v1", "apps", app, "collaborators", email]), &body).await;
    let edited =
        advice::conflict(managed(edited), || format!("`updraft app transfer {} EMAIL` gives the app another owner.", shell::quoted(app)));
    let answer = nearest::app(&client, app, no_collaborator(edited, app)).await?;
    if let Some(answer) = &answer {
        context.done(&format!("{email} is {} of {app} now.", a(answer.value.collaborator.permission)));
    }
    context.show(answer.as_ref().map_or(&Value::Null, |answer| &answer.json), || {});
    Ok(())
}

async fn remove(context: &Context, app: Option<&str>, email: &str) -> Result<()> {
    let client = context.client()?;
    let app = context.app(app)?;
    prompt::confirm_by_name(context, &format!("removes the access of {email} to {app}"), email)?;
    let removed = client.delete(&path(["v1", "apps", app, "collaborators", email])).await;
    let removed = advice::conflict(managed(removed), || owner_stays(app));
    let json = nearest::app(&client, app, no_collaborator(removed, app)).await?;
    context.done(&format!("{email} has no more access to {app}."));
    context.show(&json, || {});
    Ok(())
}

async fn accept(context: &Context, app: &str, new_name: Option<String>) -> Result<()> {
    let client = context.client()?;
    let before = nearest::app(&client, app, client.get::<AppAnswer>(&path(["v1", "apps", app])).await).await?;
    // Apps that wait for acceptance are named with their owner.
    if !before.value.app.name.contains(':') && new_name.is_none() {
        context.note(&format!("Nothing to accept: {} is among your apps already.", before.value.app.name));
        context.show(&before.json, || {});
        return Ok(());
    }
    let body = Acceptance { name: Field::from(new_name) };
    let accepted = client.post::<AppAnswer>(&path(["v1", "apps", app, "collaborators", "me", "accept"]), &body).await;
    let accepted = advice::in_options(accepted, &[("name", "--name")]);
    let accepted = advice::conflict(advice::forbidden(accepted, advice::NOT_API_KEYS), || {
        let app = shell::quoted(app);
        format!("A transferred app can get another name: `updraft collaborator accept {app} --name NEW`. A shared app keeps its name.")
    });
    let answer = nearest::app(&client, app, accepted).await?;
    context.done(&format!("Accepted {}.", answer.value.app.name));
    context.show(&answer.json, || {});
    Ok(())
}

async fn leave(context: &Context, app: &str) -> Result<()> {
    let client = context.client()?;
    let people = read(&client, app).await?.value.collaborators;
    let mine = people.iter().find(|(_, collaborator)| collaborator.is_current_account).map(|(email, _)| email);
    let Some(email) = mine else {
        return Err(Error::new(Kind::NotFound, format!("you are no collaborator of {app}"), "Run `updraft app list` to see your apps."));
    };
    prompt::confirm_by_name(context, &format!("removes your access to {app}"), app)?;
    let left = client.delete(&path(["v1", "apps", app, "collaborators", email])).await;
    let left = advice::conflict(advice::forbidden(left, advice::NOT_API_KEYS), || owner_stays(app));
    let json = nearest::app(&client, app, left).await?;
    context.done(&format!("You left {app}."));
    context.show(&json, || {});
    Ok(())
}

/// Refusals of operations that need `collaborators.manage`.
fn managed<T>(result: Result<T>) -> Result<T> {
    advice::fresh(advice::forbidden(result, advice::COLLABORATOR_MANAGERS))
}

/// The owner, and the sender of a transfer that is not accepted, cannot go.
fn owner_stays(app: &str) -> String {
    let app = shell::quoted(app);
    format!("Use `updraft app transfer {app} EMAIL` or `updraft app delete {app}`. A pending transfer ends when its receiver is removed.")
}

fn no_collaborator<T>(result: Result<T>, app: &str) -> Result<T> {
    result.map_err(|error| {
        let is_other = error.kind != Kind::NotFound || error.what.starts_with("app ");
        let option = shell::option("--app", app);
        if is_other { error } else { error.with_next(format!("`updraft collaborator list {option}` shows who has access.")) }
    })
}

const fn rank(role: Role) -> u8 {
    match role {
        Role::Owner => 0,
        Role::Admin => 1,
        Role::Developer => 2,
        Role::Viewer => 3,
    }
}

/// The role's name in a sentence, with its article.
const fn a(role: Role) -> &'static str {
    match role {
        Role::Owner => "the Owner",
        Role::Admin => "an Admin",
        Role::Developer => "a Developer",
        Role::Viewer => "a Viewer",
    }
}

const fn name(role: Role) -> &'static str {
    match role {
        Role::Owner => "Owner",
        Role::Admin => "Admin",
        Role::Developer => "Developer",
        Role::Viewer => "Viewer",
    }
}
