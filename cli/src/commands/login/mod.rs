//! `updraft login`: by a browser on this machine ([`browser`]), with a code for a browser elsewhere ([`device`]), or with a key ([`token`]).

mod browser;
mod device;
mod listener;
mod machine;
mod page;
mod token;

use clap::Args;
use shared::api::accounts::AccountAnswer;
use shared::api::cli_login::CliCredential;
use shared::time::UnixMillis;

use super::{browser as desktop, logout, versions};
use crate::client::{Answer, Client};
use crate::config::credentials;
use crate::config::server::ServerUrl;
use crate::config::user::{KnownServer, UserConfig};
use crate::context::{Context, Credential, Server};
use crate::error::{Error, Kind, Result};
use crate::output::{interrupt, prompt, terminal};
use machine::Machine;

/// Signs in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  updraft login --server https://updraft.example.com
  updraft login --device
  updraft login --token - < token.txt

In CI, do not sign in: set UPDRAFT_URL and UPDRAFT_TOKEN.")]
pub(crate) struct LoginCommand {
    /// The server's short name. Default: its host.
    #[arg(long, value_parser = short_name)]
    name: Option<String>,
    /// Print a code for a browser on any device, instead of opening one here.
    #[arg(long, conflicts_with = "token")]
    device: bool,
    /// Use an access key or API key. `-` reads it from standard input; without a value you are asked. Other users of this machine can see a value here.
    #[arg(long, value_name = "TOKEN", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "clap's form of an option whose value is optional")]
    token: Option<Option<String>>,
}

/// A credential that was just obtained.
struct SignedIn {
    secret: String,
    /// When it expires, if known.
    expires: Option<UnixMillis>,
    /// Whether it is a key that the user gave, not one that was issued for this sign-in.
    is_given: bool,
}

impl From<CliCredential> for SignedIn {
    fn from(issued: CliCredential) -> Self {
        Self { secret: issued.access_key, expires: Some(issued.expires), is_given: false }
    }
}

/// A server's short name. Hosts with ports are the default names, hence the colon.
fn short_name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-:[]".contains(letter);
    if (1..=100).contains(&text.len()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 100 letters, digits, dots, dashes or underscores".to_owned())
    }
}

impl LoginCommand {
    /// Runs it.
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let server = known_or_asked(context)?;
        let name = self.name_for(&context.user, &server)?;
        self.check_that_somebody_is_there()?;
        let client = Client::new(context, &server.url, None)?;
        versions::warn(&versions::of_server(&client).await?);
        // Written first: who cannot store the credential should not have to approve anything.
        credentials::check()?;
        let machine = Machine::this()?;
        let step = interrupt::step("you are not signed in", "Run `updraft login` again.");
        let signed_in = match self.token {
            Some(token) => SignedIn { secret: token::read(token.as_deref())?, expires: None, is_given: true },
            None if self.device || !desktop::is_there() => device::sign_in(context, &client, machine).await?.into(),
            None => browser::sign_in(context, &client, machine).await?.into(),
        };
        step.now("the sign-in was approved, but may not be stored", "Run `updraft whoami` to see whether you are signed in.");
        let answer = keep(context, &server.url, &name, &signed_in).await?;
        drop(step);
        say_what_is_in_use(context, &name)?;
        context.show(&answer.json, || {});
        Ok(())
    }

    /// Refuses to wait for an approval in CI.
    fn check_that_somebody_is_there(&self) -> Result<()> {
        if self.token.is_some() || self.device || desktop::is_there() || terminal::is_interactive() {
            return Ok(());
        }
        let next = "In CI, set UPDRAFT_URL and UPDRAFT_TOKEN instead. Elsewhere add --device, or --token - with a key on standard input.";
        Err(Error::usage("there is neither a browser nor a terminal to sign in with", next))
    }

    /// The server's name in the configuration. Errors: usage (2) if another server has it.
    fn name_for(&self, user: &UserConfig, server: &Server) -> Result<String> {
        let name = self.name.clone().or_else(|| server.name.clone()).unwrap_or_else(|| server.url.host().to_owned());
        match user.servers.get(&name) {
            Some(other) if other.url != server.url => {
                let next = format!("Add --name with another one, or run `updraft server remove {name}` first.");
                Err(Error::usage(format!("the server {} is already named {name}", other.url), next))
            }
            _ => Ok(name),
        }
    }
}

/// The server that is given or known; otherwise asks for it. Errors: usage (2) without a terminal.
fn known_or_asked(context: &Context) -> Result<Server> {
    match context.server() {
        Err(error) if error.kind == Kind::NotSignedIn => {
            let url = ServerUrl::parse(&prompt::text("URL of the Updraft server", None, "--server URL")?)?;
            Ok(Server { name: None, url, is_chosen_by_project: false })
        }
        Ok(server) if server.is_chosen_by_project => {
            let what = format!("the project file names {}, and you never signed in to it", server.url);
            Err(Error::usage(what, format!("If you trust it, run `updraft login --server {}`.", server.url)))
        }
        other => other,
    }
}

/// Checks the credential and stores it; then revokes the one that it replaces. If that fails, a credential that was issued is revoked again.
async fn keep(context: &Context, url: &ServerUrl, name: &str, signed_in: &SignedIn) -> Result<Answer<AccountAnswer>> {
    let stored = credentials::find(url).unwrap_or_default();
    let before = stored.clone().filter(|before| *before != signed_in.secret);
    let was_given = context.user.by_url(url).is_some_and(|(_, known)| known.has_given_token);
    let kept = check_and_store(context, url, name, signed_in).await;
    if kept.is_err() {
        // A sign-in that worked before goes on working. If that fails as well, the error that is reported says why.
        let _ = stored.map_or_else(|| credentials::forget(url), |stored| credentials::store(url, &stored).map(drop));
    }
    let unused = if kept.is_ok() { before.filter(|_| !was_given) } else { Some(signed_in.secret.clone()).filter(|_| !signed_in.is_given) };
    if let Some(unused) = unused
        && logout::revoke(context, url, unused).await.is_err()
    {
        Context::warn("An unused credential of this machine could not be revoked: `updraft device list` shows it.");
    }
    let (answer, place) = kept?;
    context.done(&format!("Signed in to {url} as {}.", answer.value.account.email));
    let expiry = signed_in.expires.map(|expires| format!(" It expires on {}.", expires.utc_date())).unwrap_or_default();
    context.note(&format!("The credential is stored in {place}.{expiry}"));
    Ok(answer)
}

async fn check_and_store(context: &Context, url: &ServerUrl, name: &str, signed_in: &SignedIn) -> Result<(Answer<AccountAnswer>, String)> {
    let credential = Credential { secret: signed_in.secret.clone(), is_from_environment: false };
    let client = Client::new(context, url, Some(credential))?;
    let answer = client.get::<AccountAnswer>("/v1/account").await.map_err(|error| match error.kind {
        Kind::NotSignedIn => token::refused(url, error),
        _ => error,
    })?;
    let place = credentials::store(url, &signed_in.secret)?;
    let known = KnownServer { url: url.clone(), account: Some(answer.value.account.email.clone()), has_given_token: signed_in.is_given };
    UserConfig::change(|config| {
        let is_default = |config: &UserConfig| {
            config.default_server.as_ref().and_then(|name| config.servers.get(name)).is_some_and(|known| known.url == *url)
        };
        let has_default = config.default_server.as_ref().is_some_and(|name| config.servers.contains_key(name));
        if is_default(config) || !has_default {
            config.default_server = Some(name.to_owned());
        }
        config.servers.retain(|_, other| other.url != *url);
        config.servers.insert(name.to_owned(), known);
    })?;
    Ok((answer, place))
}

/// Says what commands use, where that is not what was just signed in to.
fn say_what_is_in_use(context: &Context, name: &str) -> Result<()> {
    if std::env::var("UPDRAFT_TOKEN").is_ok_and(|token| !token.trim().is_empty()) {
        Context::warn("UPDRAFT_TOKEN is set, and commands use it instead: unset it to use this sign-in.");
    }
    let default = UserConfig::read()?.default_server;
    if let Some(default) = default.filter(|default| default != name) {
        context.note(&format!("Commands still use {default}. To use this server: `updraft server use {name}`, or --server {name}."));
    }
    Ok(())
}
