//! `updraft session`: where the account is signed in.

use clap::Subcommand;
use shared::api::sessions::{RevokedAnswer, Session, SessionsAnswer};

use super::logout;
use crate::client::path;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::table::Table;
use crate::output::{prompt, terminal, times};

/// Commands on sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the browsers and devices that are signed in to your account.
    #[command(visible_alias = "ls", after_help = "Example:\n  updraft session list")]
    List,
    /// Sign out the browsers and devices from a source, or all browsers.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  updraft session revoke 203.0.113.7\n  updraft session revoke build-server\n  updraft session revoke --all"
    )]
    Revoke {
        /// The source, as `updraft session list` shows it: an IP address or a device's name.
        #[arg(required_unless_present = "all")]
        source: Option<String>,
        /// Sign out all browsers. Devices stay authorized: see `updraft device`.
        #[arg(long, conflicts_with = "source")]
        all: bool,
    },
}

impl SessionCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        match self {
            Self::List => list(context).await,
            Self::Revoke { source: Some(source), .. } => revoke(context, &source).await,
            Self::Revoke { source: None, .. } => revoke_all(context).await,
        }
    }
}

async fn list(context: &Context) -> Result<()> {
    let answer = context.client()?.get::<SessionsAnswer>("/v1/account/sessions").await?;
    context.show(&answer.json, || {
        let mut table = Table::new(["source", "device", "client", "platform", "signed in", "last used", "expires", ""])
            .when_empty("There are no sessions.")
            .optional(["platform", "signed in", "client", "expires", "device"]);
        for session in &answer.value.sessions {
            table.row([
                session.created_by.clone(),
                session.device_name.clone().unwrap_or_default(),
                session.client_name.clone().unwrap_or_else(|| "Browser".to_owned()),
                session.client_platform.clone().unwrap_or_default(),
                times::time(session.created_time),
                session.last_used_time.map_or_else(|| "never used".to_owned(), times::time),
                times::time(session.expires),
                if session.is_current { "this one" } else { "" }.to_owned(),
            ]);
        }
        let hidden: &[&str] = if terminal::is_wide() { &[] } else { &["platform", "signed in"] };
        table.without(hidden).print();
    });
    Ok(())
}

async fn revoke(context: &Context, source: &str) -> Result<()> {
    let client = context.client()?;
    let sessions = client.get::<SessionsAnswer>("/v1/account/sessions").await?.value.sessions;
    let is_from = |session: &&Session| session.created_by == source || session.device_name.as_deref() == Some(source);
    let from: Vec<&Session> = sessions.iter().filter(is_from).collect();
    let has_current = from.iter().any(|session| session.is_current);
    let count = if from.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", from.len()) };
    let including = if has_current { ", this one included" } else { "" };
    // Without any, the server answers that there is none.
    if !from.is_empty() {
        prompt::confirm_by_name(context, &format!("revokes {count} from {source}{including}"), source)?;
    }
    let json = client.delete(&path(["v1", "sessions", source])).await.map_err(|error| match error.status() {
        Some(404) => Error { what: format!("no session is from {source}"), ..error },
        _ => error,
    })?;
    context.done(&format!("Revoked {count} from {source}."));
    if has_current {
        logout::after_own_revocation(context)?;
    }
    context.show(&json, || {});
    Ok(())
}

async fn revoke_all(context: &Context) -> Result<()> {
    let client = context.client()?;
    prompt::confirm_by_name(context, "signs out all browsers", "all")?;
    let json = client.delete("/v1/account/sessions").await?;
    if let Ok(RevokedAnswer { revoked }) = serde_json::from_value(json.clone()) {
        let count = if revoked == 1 { "1 browser".to_owned() } else { format!("{revoked} browsers") };
        context.done(&format!("Signed out {count}. `updraft device list` shows the devices that are still authorized."));
    }
    context.show(&json, || {});
    Ok(())
}
