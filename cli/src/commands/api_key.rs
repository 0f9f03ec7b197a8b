//! `updraft api-key`: keys for automation, limited to scopes.

use std::collections::BTreeSet;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use shared::api::api_keys::{ApiKey, ApiKeysAnswer};
use shared::time::UnixMillis;

use super::dashboard::{self, Expiry};
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::output::table::Table;
use crate::output::{prompt, terminal, times};

/// Commands on API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum ApiKeyCommand {
    /// List your API keys, revoked and expired ones included.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft api-key list")]
    List,
    /// Open the dashboard's form for a new API key, filled in.
    #[command(after_help = "Example:\n  updraft api-key create ci --scope deploy,read --expires 2027-12-31")]
    Create {
        /// Its name.
        name: Option<String>,
        /// What it can do: deploy (manage releases), read, apps (create and manage apps and deployments).
        #[arg(long, value_delimiter = ',', value_name = "SCOPE", value_parser = PossibleValuesParser::new(["deploy", "read", "apps"]))]
        scope: Vec<String>,
        /// When it expires. Default: never.
        #[command(flatten)]
        expiry: Expiry,
    },
    /// Revoke an API key: programs that use it lose access. It stays in the list.
    #[command(visible_alias = "rm", after_help = "Example:\n  updraft api-key revoke ci")]
    Revoke {
        /// Its ID, or its name if no other key has it.
        #[arg(value_name = "ID|NAME")]
        key: String,
    },
}

impl ApiKeyCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => list(context).await,
            Self::Create { name, scope, expiry } => create(context, name, &scope, &expiry).await,
            Self::Revoke { key } => revoke(context, &key).await,
        }
    }
}

async fn list(context: &Context) -> Result<()> {
    let answer = context.client()?.get::<ApiKeysAnswer>("/v1/api-keys").await?;
    context.show(&answer.json, || {
        let header = ["id", "name", "key", "scopes", "last used", "expires"];
        let mut table = Table::new(header).when_empty("You have no API keys. Create one: updraft api-key create NAME").optional([
            "last used",
            "key",
            "scopes",
        ]);
        for key in &answer.value.api_keys {
            let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
            table.row([
                key.id.as_str().to_owned(),
                key.name.clone(),
                format!("{}…", key.key_prefix),
                scopes.join(", "),
                key.last_used_at.map_or_else(|| "never used".to_owned(), times::time),
                expiry(key),
            ]);
        }
        // The name is enough to revoke a key, unless another one has it.
        let names: BTreeSet<&str> = answer.value.api_keys.iter().map(|key| key.name.as_str()).collect();
        let hidden: &[&str] = match (terminal::is_wide(), names.len() == answer.value.api_keys.len()) {
            (true, _) => &[],
            (false, true) => &["id"],
            (false, false) => &["key", "last used"],
        };
        table.without(hidden).print();
    });
    Ok(())
}

/// When it expires, or since when it is revoked.
fn expiry(key: &ApiKey) -> String {
    match (key.revoked_at, &key.expires_at) {
        (Some(revoked), _) => format!("revoked {}", times::time(revoked)),
        (None, Some(expires)) => parsed(expires).map_or_else(|| expires.clone(), times::time),
        (None, None) => "never".to_owned(),
    }
}

/// An ISO 8601 time.
fn parsed(text: &str) -> Option<UnixMillis> {
    let time = time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok().map(UnixMillis)
}

async fn create(context: &Context, name: Option<String>, scopes: &[String], expiry: &Expiry) -> Result<()> {
    let query = [("name", name.unwrap_or_default()), ("scopes", scopes.join(",")), ("expires", expiry.last_day()?)];
    dashboard::fill_in(context, "/keys/api/new", &query, "API keys").await
}

/// The key with this ID, or the only one with this name that is not revoked. Errors: not found (4); usage (2) if several have the name.
fn pick<'k>(keys: &'k [ApiKey], given: &str) -> Result<&'k ApiKey> {
    if let Some(key) = keys.iter().find(|key| key.id.as_str() == given) {
        return Ok(key);
    }
    let named: Vec<&ApiKey> = keys.iter().filter(|key| key.name == given && key.revoked_at.is_none()).collect();
    match *named {
        [key] => Ok(key),
        [] => {
            let next = "Run `updraft api-key list` to see your keys.";
            Err(Error::new(Kind::NotFound, format!("no API key has the ID or name {given}, or it is revoked already"), next))
        }
        _ => {
            let ids: Vec<&str> = named.iter().map(|key| key.id.as_str()).collect();
            Err(Error::usage(format!("{} API keys are named {given}", ids.len()), format!("Give the ID of one: {}.", ids.join(" or "))))
        }
    }
}

async fn revoke(context: &Context, given: &str) -> Result<()> {
    let client = context.client()?;
    let keys = client.get::<ApiKeysAnswer>("/v1/api-keys").await?.value.api_keys;
    let key = pick(&keys, given)?;
    prompt::confirm_by_name(context, &format!("revokes the API key {}: programs that use it lose access", key.name), given)?;
    let json = client.delete(&path(["v1", "api-keys", key.id.as_str()])).await?;
    context.done(&format!("Revoked the API key {}.", key.name));
    context.show(&json, || {});
    Ok(())
}
