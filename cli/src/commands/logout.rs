//! `updraft logout`: revokes this machine's credential and forgets it.

use clap::Args;
use serde_json::Value;

use crate::client::Client;
use crate::config::credentials;
use crate::config::server::ServerUrl;
use crate::config::user::UserConfig;
use crate::context::{Context, Credential, Server};
use crate::error::{Error, Kind, Result};

/// Signs out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft logout
  updraft logout --all

A key that was given with `login --token` is forgotten, but not revoked: it may be in use elsewhere.")]
pub(crate) struct LogoutCommand {
    /// Sign out of all servers.
    #[arg(long)]
    all: bool,
}

/// What became of the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Revoked, or it was no longer accepted.
    Revoked,
    /// A key that was given: only forgotten.
    Forgotten,
    /// There was none.
    Nothing,
}

impl LogoutCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        if std::env::var_os("UPDRAFT_TOKEN").is_some_and(|token| !token.is_empty()) {
            Context::warn("UPDRAFT_TOKEN is still set: unset it to be signed out.");
        }
        if self.all { all(context).await } else { one(context, &context.server()?).await }?;
        context.show(&Value::Null, || {});
        Ok(())
    }
}

/// Signs out of one server, and says so. Errors: not signed in (3); network or server (6) if the credential is still valid there.
pub(super) async fn one(context: &Context, server: &Server) -> Result<()> {
    match sign_out(context, &server.url).await? {
        Outcome::Revoked => context.done(&format!("Signed out of {}. The credential is revoked.", server.url)),
        Outcome::Forgotten => context.done(&format!(
            "Signed out of {}. The key itself still works: delete it with `updraft access-key delete` or `updraft api-key revoke`.",
            server.url
        )),
        Outcome::Nothing => {
            let next = "Nothing is left to do. `updraft server list` shows where you are signed in.";
            return Err(Error::new(Kind::NotSignedIn, format!("you are not signed in to {}", server.url), next));
        }
    }
    Ok(())
}

async fn all(context: &Context) -> Result<()> {
    let mut first_error = None;
    let mut count = 0;
    for (name, known) in &context.user.servers {
        match one(context, &Server { name: Some(name.clone()), url: known.url.clone(), is_chosen_by_project: false }).await {
            Ok(()) => count += 1,
            Err(error) if error.kind == Kind::NotSignedIn => {}
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) => Err(error),
        None if count == 0 => {
            context.note("You were not signed in anywhere.");
            Ok(())
        }
        None => Ok(()),
    }
}

/// Revokes and forgets the credential for a server. It is forgotten in any case. Errors: network or server (6) if it is still valid there.
async fn sign_out(context: &Context, url: &ServerUrl) -> Result<Outcome> {
    // One that cannot be read cannot be revoked either: it is forgotten, and the error says that it is still valid.
    let credential = credentials::find(url);
    let is_given = context.user.by_url(url).is_some_and(|(_, known)| known.has_given_token);
    let revoked = match credential {
        Err(error) => Err(Error { kind: Kind::Failed, ..error }),
        Ok(None) => Ok(Outcome::Nothing),
        Ok(Some(_)) if is_given => Ok(Outcome::Forgotten),
        Ok(Some(secret)) => revoke(context, url, secret).await.map(|()| Outcome::Revoked),
    };
    forget(url)?;
    revoked.map_err(|error| {
        let next = "Revoke it there: on the dashboard under Sessions and devices, or with `updraft device revoke` on another machine.";
        Error { what: format!("signed out here, but the credential is still valid on {url}: {}", error.what), ..error }.with_next(next)
    })
}

/// Revokes the credential of a sign-in. One that the server no longer accepts counts as revoked.
pub(super) async fn revoke(context: &Context, url: &ServerUrl, secret: String) -> Result<()> {
    let client = Client::new(context, url, Some(Credential { secret, is_from_environment: false }))?;
    match client.delete("/v1/cli/devices/current").await {
        Err(error) if error.kind == Kind::NotSignedIn => Ok(()),
        other => other.map(drop),
    }
}

/// Forgets the credential for a server, and who is signed in there. The server itself stays known.
pub(super) fn forget(url: &ServerUrl) -> Result<()> {
    credentials::forget(url)?;
    let config = UserConfig::read()?;
    if config.by_url(url).is_none_or(|(_, known)| known.account.is_none()) {
        return Ok(());
    }
    UserConfig::change(|config| {
        for known in config.servers.values_mut().filter(|known| known.url == *url) {
            (known.account, known.has_given_token) = (None, false);
        }
    })
}

/// Forgets the stored credential after a command has revoked the one that it used.
pub(super) fn after_own_revocation(context: &Context) -> Result<()> {
    let server = context.server()?;
    let is_from_environment = Context::credential(&server)?.is_some_and(|credential| credential.is_from_environment);
    if is_from_environment {
        context.note("The credential in UPDRAFT_TOKEN was revoked, too.");
        return Ok(());
    }
    forget(&server.url)?;
    context.note("You are signed out here, too. Run `updraft login` to sign in again.");
    Ok(())
}
