//! `updraft server`: the servers that the user signed in to.

use clap::Subcommand;
use serde_json::json;

use super::logout;
use crate::config::server::ServerUrl;
use crate::config::user::UserConfig;
use crate::context::{Context, Server};
use crate::error::{Error, Kind, Result};
use crate::output::table::Table;

/// Commands on servers.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// List the servers that you signed in to.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft server list")]
    List,
    /// Choose the server that commands use unless another is given.
    #[command(after_help = "Example:\n  updraft server use staging")]
    Use {
        /// Its name in `updraft server list`, or its URL.
        // Another id than the global `--server`, which would take this value otherwise.
        #[arg(id = "known-server", value_name = "NAME|URL")]
        server: String,
    },
    /// Sign out of a server and forget it.
    #[command(visible_alias = "rm", after_help = "Example:\n  updraft server remove staging")]
    Remove {
        /// Its name in `updraft server list`, or its URL.
        // Another id than the global `--server`, which would take this value otherwise.
        #[arg(id = "known-server", value_name = "NAME|URL")]
        server: String,
    },
}

impl ServerCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => {
                list(context);
                Ok(())
            }
            Self::Use { server } => choose(context, &server),
            Self::Remove { server } => remove(context, &server).await,
        }
    }
}

fn list(context: &Context) {
    let current = context.server().ok().map(|server| server.url);
    let servers = &context.user.servers;
    let is_current = |url: &ServerUrl| current.as_ref() == Some(url);
    let json: Vec<_> = servers
        .iter()
        .map(|(name, known)| json!({ "name": name, "url": known.url, "account": known.account, "isCurrent": is_current(&known.url) }))
        .collect();
    context.show(&json!({ "servers": json }), || {
        let mut table = Table::new(["name", "url", "account", ""])
            .when_empty("No server is known. Sign in to one: updraft login --server URL")
            .optional(["account"]);
        for (name, known) in servers {
            let account = known.account.as_deref().unwrap_or("not signed in");
            table.row([name.as_str(), known.url.as_str(), account, if is_current(&known.url) { "in use" } else { "" }]);
        }
        table.print();
    });
}

/// The name of a known server. Errors: not found (4).
fn find(config: &UserConfig, given: &str) -> Result<String> {
    if config.servers.contains_key(given) {
        return Ok(given.to_owned());
    }
    let by_url = ServerUrl::parse(given).ok().and_then(|url| config.by_url(&url).map(|(name, _)| name.to_owned()));
    by_url.ok_or_else(|| {
        let next = "Run `updraft server list` to see the names, or sign in first: `updraft login --server URL`.";
        Error::new(Kind::NotFound, format!("no server is known as {given}"), next)
    })
}

fn choose(context: &Context, given: &str) -> Result<()> {
    let name = find(&context.user, given)?;
    let config = UserConfig::change(|config| {
        config.default_server = Some(name.clone());
        config.clone()
    })?;
    let url = config.servers.get(&name).map(|known| known.url.as_str()).unwrap_or_default();
    context.done(&format!("Commands use {name} now ({url}), unless --server, UPDRAFT_URL or updraft.toml names another."));
    let by = if context.global.server.is_some() {
        Some("--server or UPDRAFT_URL")
    } else {
        context.project.as_ref().filter(|found| found.project.server.is_some()).map(|_| "the updraft.toml of this folder")
    };
    if let (Some(by), Ok(used)) = (by, context.server())
        && used.url.as_str() != url
    {
        context.note(&format!("warning: here, {by} names {}, which commands use instead.", used.url));
    }
    context.show(&json!({ "name": name, "url": url }), || {});
    Ok(())
}

async fn remove(context: &Context, given: &str) -> Result<()> {
    let name = find(&context.user, given)?;
    let signed_out = match context.user.servers.get(&name) {
        Some(known) => {
            logout::one(context, &Server { name: Some(name.clone()), url: known.url.clone(), is_chosen_by_project: false }).await
        }
        None => Ok(()),
    };
    let (was_default, left) = UserConfig::change(|config| {
        config.servers.remove(&name);
        let was_default = config.default_server.take_if(|default| *default == name).is_some();
        (was_default, config.servers.keys().cloned().collect::<Vec<_>>())
    })?;
    context.done(&format!("Forgot the server {name}."));
    match left.as_slice() {
        [only] if was_default => context.note(&format!("Commands use {only} now, the only server that is left.")),
        [_, _, ..] if was_default => {
            context.note("Choose the server that commands use: `updraft server use NAME`. `updraft server list` shows them.");
        }
        _ => {}
    }
    context.show(&serde_json::Value::Null, || {});
    match signed_out {
        Err(error) if error.kind != Kind::NotSignedIn => Err(error),
        _ => Ok(()),
    }
}
