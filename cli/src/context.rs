//! What all commands share: the global options, where they act, and how they print.

use serde_json::Value;
use shared::text::shell;

use crate::arguments::{Global, OutputFormat};
use crate::client::Client;
use crate::config::credentials;
use crate::config::project::{self, Found};
use crate::config::server::ServerUrl;
use crate::config::user::UserConfig;
use crate::error::{Error, Kind, Result};
use crate::output::terminal;

/// What all commands share.
#[derive(Debug)]
pub(crate) struct Context {
    /// The global options.
    pub global: Global,
    /// The user's configuration.
    pub user: UserConfig,
    /// The project file, if there is one.
    pub project: Option<Found>,
}

/// The server that a command acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// Its name in the user's configuration.
    pub name: Option<String>,
    /// Its URL.
    pub url: ServerUrl,
    /// Whether only the project file names it, and the user never signed in to it. Such a server gets no credential that was not meant for it: the
    /// project can be somebody else's.
    pub is_chosen_by_project: bool,
}

/// A variable of the environment that contradicts the project file, and wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// The variable's name.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The name of the setting in the project file.
    pub setting: &'static str,
    /// Its value.
    pub in_file: String,
}

/// The credential for a server, and where it comes from.
#[derive(Clone)]
pub(crate) struct Credential {
    /// The raw credential.
    pub secret: String,
    /// Whether it comes from `UPDRAFT_TOKEN`, not from signing in.
    pub is_from_environment: bool,
}

impl Context {
    /// Reads configuration and project file. Errors: usage (2) if one of them is not valid.
    pub(crate) fn new(global: Global) -> Result<Self> {
        Ok(Self { global: without_empty(global), user: UserConfig::read()?, project: project::find()? })
    }

    /// The same, with what cannot be read left out: for `doctor`, which reports it.
    pub(crate) fn lenient(global: Global) -> Self {
        Self { global: without_empty(global), user: UserConfig::read().unwrap_or_default(), project: project::find().ok().flatten() }
    }

    /// Whether messages and progress are off.
    pub(crate) fn is_quiet(&self) -> bool {
        self.global.quiet || self.is_json()
    }

    /// Whether standard output is one JSON document.
    pub(crate) fn is_json(&self) -> bool {
        self.global.output == OutputFormat::Json
    }

    /// The server: `--server`, `UPDRAFT_URL`, the project file, the default server. Errors: not signed in (3) if none is known.
    pub(crate) fn server(&self) -> Result<Server> {
        if let Some(given) = &self.global.server {
            return self.named_server(given);
        }
        if let Some(given) = self.project.as_ref().and_then(|found| found.project.server.as_deref()) {
            let server = self.named_server(given)?;
            return Ok(Server { is_chosen_by_project: server.name.is_none(), ..server });
        }
        let name = self.user.default_server.as_deref().or_else(|| {
            let mut names = self.user.servers.keys();
            names.next().filter(|_| names.next().is_none()).map(String::as_str)
        });
        match name {
            Some(name) => self.named_server(name),
            None if !self.user.servers.is_empty() => Err(Error::usage(
                "several servers are known, and none is chosen",
                "Add --server NAME, or choose one for all commands: `updraft server use NAME`. `updraft server list` shows them.",
            )),
            None => Err(Error::new(
                Kind::NotSignedIn,
                "no server is known",
                "Run `updraft login --server URL`, or set UPDRAFT_URL and UPDRAFT_TOKEN.",
            )),
        }
    }

    fn named_server(&self, given: &str) -> Result<Server> {
        if let Some(known) = self.user.servers.get(given) {
            return Ok(Server { name: Some(given.to_owned()), url: known.url.clone(), is_chosen_by_project: false });
        }
        if !given.contains(['.', ':', '/']) && given != "localhost" {
            let next = "Run `updraft server list` to see the names, or give the server's URL.";
            return Err(Error::new(Kind::NotFound, format!("no server is named {given}"), next));
        }
        let url = ServerUrl::parse(given)?;
        Ok(Server { name: self.user.by_url(&url).map(|(name, _)| name.to_owned()), url, is_chosen_by_project: false })
    }

    /// The credential for a server, if there is one: `UPDRAFT_TOKEN`, or what signing in stored.
    pub(crate) fn credential(server: &Server) -> Result<Option<Credential>> {
        match std::env::var("UPDRAFT_TOKEN") {
            Ok(secret) if !secret.trim().is_empty() && server.is_chosen_by_project => {
                let what = format!("only the project file names {}: UPDRAFT_TOKEN is not sent to it", server.url);
                Err(Error::usage(what, format!("If you trust it, set UPDRAFT_URL={} as well.", server.url)))
            }
            Ok(secret) if !secret.trim().is_empty() => Ok(Some(Credential { secret: secret.trim().to_owned(), is_from_environment: true })),
            _ => Ok(credentials::find(&server.url)?.map(|secret| Credential { secret, is_from_environment: false })),
        }
    }

    /// A client with the credential for the server. Errors: not signed in (3).
    pub(crate) fn client(&self) -> Result<Client> {
        let server = self.server()?;
        let credential = Self::credential(&server)?.ok_or_else(|| {
            let next =
                format!("Run `updraft login --server {}`, or set UPDRAFT_TOKEN.", server.name.as_deref().unwrap_or(server.url.as_str()));
            Error::new(Kind::NotSignedIn, format!("you are not signed in to {}", server.url), next)
        })?;
        Client::new(self, &server.url, Some(credential))
    }

    /// A client without a credential.
    pub(crate) fn anonymous(&self) -> Result<Client> {
        Client::new(self, &self.server()?.url, None)
    }

    /// The app: the option (or `UPDRAFT_APP`), or the project file's. Errors: usage (2).
    pub(crate) fn app<'c>(&'c self, given: Option<&'c str>) -> Result<&'c str> {
        // An empty variable, as in a pipeline that does not set it, counts as none.
        let given = given.filter(|name| !name.is_empty());
        given.or_else(|| self.project.as_ref().and_then(|found| found.project.app.as_deref())).ok_or_else(|| {
            let of_platforms = self.project.as_ref().map(|found| &found.project).and_then(|project| {
                let app = |table: &Option<project::OfPlatform>| table.as_ref()?.app.as_deref().map(|app| shell::option("--app", app));
                Some((app(&project.ios)?, app(&project.android)?))
            });
            let next = match of_platforms {
                Some((ios, android)) => format!("Add {ios} or {android}, which updraft.toml has for iOS and Android, or set UPDRAFT_APP."),
                None => "Add --app NAME, set UPDRAFT_APP, or run `updraft init`. `updraft app list` shows your apps.".to_owned(),
            };
            Error::usage("no app is given", next)
        })
    }

    /// The deployment: the option (or `UPDRAFT_DEPLOYMENT`), or the project file's. Errors: usage (2).
    pub(crate) fn deployment<'c>(&'c self, given: Option<&'c str>) -> Result<&'c str> {
        let given = given.filter(|name| !name.is_empty());
        given.or_else(|| self.project.as_ref().and_then(|found| found.project.deployment.as_deref())).ok_or_else(|| {
            let next = "Add --deployment NAME, set UPDRAFT_DEPLOYMENT, or run `updraft init`. `updraft deployment list` shows them.";
            Error::usage("no deployment is given", next)
        })
    }

    /// The variables that contradict the project file.
    pub(crate) fn contradictions(&self) -> Vec<Contradiction> {
        let Some(found) = &self.project else { return Vec::new() };
        let project = &found.project;
        let settings = [
            ("UPDRAFT_URL", "server", &project.server),
            ("UPDRAFT_APP", "app", &project.app),
            ("UPDRAFT_DEPLOYMENT", "deployment", &project.deployment),
        ];
        let contradiction = |(variable, setting, in_file): (&'static str, &'static str, &Option<String>)| {
            let value = std::env::var(variable).ok().filter(|value| !value.is_empty())?;
            let in_file = in_file.clone().filter(|in_file| *in_file != value)?;
            // A server has several spellings: its name, and its URL with or without a slash.
            let url = |name: &str| self.named_server(name).ok().map(|server| server.url);
            let is_same = setting == "server" && url(&value).is_some() && url(&value) == url(&in_file);
            (!is_same).then_some(Contradiction { variable, value, setting, in_file })
        };
        settings.into_iter().filter_map(contradiction).collect()
    }

    /// Prints a result: the API's JSON with `--output json`, otherwise what `people` prints.
    pub(crate) fn show(&self, json: &Value, people: impl FnOnce()) {
        if self.is_json() {
            // Cannot fail: a value always serializes.
            terminal::print(&(serde_json::to_string_pretty(json).unwrap_or_default() + "\n"));
        } else {
            people();
        }
    }

    /// Prints what was done to standard error, unless quiet.
    pub(crate) fn done(&self, message: &str) {
        if !self.is_quiet() {
            terminal::line(&format!("{} {message}", terminal::stderr_style().success("✓")));
        }
    }

    /// Prints a remark to standard error, unless quiet.
    pub(crate) fn note(&self, message: &str) {
        if !self.is_quiet() {
            terminal::line(message);
        }
    }

    /// Prints a warning to standard error, even if quiet.
    pub(crate) fn warn(message: &str) {
        terminal::line(&format!("{} {message}", terminal::stderr_style().warning("warning:")));
    }
}

/// An empty variable, as in a pipeline that does not set it, counts as none.
fn without_empty(global: Global) -> Global {
    Global { server: global.server.filter(|server| !server.is_empty()), ..global }
}
