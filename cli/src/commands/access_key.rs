//! `updraft access-key`: keys with their owner's rights.

use clap::Subcommand;
use shared::api::Field;
use shared::api::access_keys::{AccessKey, AccessKeyAnswer, AccessKeyPatch, AccessKeysAnswer};

use super::advice;
use super::dashboard::{self, Expiry};
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::prompt;
use crate::output::table::{Details, Table};
use crate::output::times;

/// Commands on access keys.
#[derive(Debug, Subcommand)]
pub(crate) enum AccessKeyCommand {
    /// List your access keys.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft access-key list")]
    List,
    /// Show an access key. The secret is never shown again.
    #[command(after_help = "Example:\n  updraft access-key show build-server")]
    Show {
        /// Its name.
        name: String,
    },
    /// Open the dashboard's form for a new access key, filled in.
    #[command(after_help = "Example:\n  updraft access-key create build-server --days 90")]
    Create {
        /// Its name.
        name: Option<String>,
        /// When it expires.
        #[command(flatten)]
        expiry: Expiry,
    },
    /// Rename an access key. The secret stays the same.
    #[command(after_help = "Example:\n  updraft access-key rename build-server old-build-server")]
    Rename {
        /// Its name.
        name: String,
        /// Its new name.
        new_name: String,
    },
    /// Delete an access key: programs that use it lose access.
    #[command(visible_alias = "rm", after_help = "Example:\n  updraft access-key delete build-server")]
    Delete {
        /// Its name.
        name: String,
    },
}

impl AccessKeyCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => list(context).await,
            Self::Show { name } => show(context, &name).await,
            Self::Create { name, expiry } => create(context, name, &expiry).await,
            Self::Rename { name, new_name } => rename(context, &name, new_name).await,
            Self::Delete { name } => delete(context, &name).await,
        }
    }
}

/// Whether it is a key that somebody created, not a session.
fn is_named(key: &AccessKey) -> bool {
    !key.is_session && key.credential_origin.is_none()
}

async fn list(context: &Context) -> Result<()> {
    let answer = context.client()?.get::<AccessKeysAnswer>("/v1/access-keys").await?;
    context.show(&answer.json, || {
        let mut table = Table::new(["name", "created", "from", "expires"])
            .optional(["from", "created"])
            .when_empty("You have no access keys. Create one: updraft access-key create NAME");
        for key in answer.value.access_keys.iter().filter(|key| is_named(key)) {
            table.row([key.friendly_name.clone(), times::time(key.created_time), key.created_by.clone(), times::time(key.expires)]);
        }
        table.print();
    });
    Ok(())
}

/// Words a key that was not found, or a name that is taken.
fn worded<T>(name: &str, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error.kind {
        Kind::NotFound => Error { what: format!("there is no access key named {name}"), ..error },
        Kind::Conflict => error.with_next("Choose another name. `updraft access-key list` shows those in use."),
        _ => error,
    })
}

async fn show(context: &Context, name: &str) -> Result<()> {
    let client = context.client()?;
    let answer = worded(name, client.get::<AccessKeyAnswer>(&path(["v1", "access-keys", name])).await)?;
    context.show(&answer.json, || print(&answer.value.access_key));
    Ok(())
}

async fn create(context: &Context, name: Option<String>, expiry: &Expiry) -> Result<()> {
    let query = [("name", name.unwrap_or_default()), ("expires", expiry.last_day()?)];
    dashboard::fill_in(context, "/keys/new", &query, "access keys").await
}

async fn rename(context: &Context, name: &str, new_name: String) -> Result<()> {
    let client = context.client()?;
    let body = AccessKeyPatch { friendly_name: Field::from(new_name), ..AccessKeyPatch::default() };
    let renamed = client.patch::<AccessKeyAnswer>(&path(["v1", "access-keys", name]), &body).await;
    if let Some(answer) = worded(name, advice::in_options(renamed, &[("friendlyName", "NEW_NAME")]))? {
        context.done(&format!("Renamed {name} to {}.", answer.value.access_key.friendly_name));
        context.show(&answer.json, || {});
    }
    Ok(())
}

async fn delete(context: &Context, name: &str) -> Result<()> {
    let client = context.client()?;
    prompt::confirm_by_name(context, &format!("deletes the access key {name}: programs that use it lose access"), name)?;
    let json = worded(name, client.delete(&path(["v1", "access-keys", name])).await)?;
    context.done(&format!("Deleted the access key {name}."));
    context.show(&json, || {});
    Ok(())
}

fn print(key: &AccessKey) {
    let mut details = Details::new();
    details.add("Name", &*key.friendly_name).add("Created", times::time(key.created_time)).add("From", &*key.created_by);
    details.add_some("Device", key.device_name.as_deref()).add_some("Client", key.client_name.as_deref());
    details.add("Expires", times::time(key.expires));
    details.print();
}
