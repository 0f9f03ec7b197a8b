//! The program `updraft` built with these tests, run as a user would: in a folder, with a home of its own, with or without a terminal.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::Client;
use crate::program::{Ended, built};
use crate::wait::{patience, until};

/// A user of the CLI: a home folder, a working folder and an environment.
#[derive(Debug)]
pub struct Cli {
    home: TempDir,
    environment: BTreeMap<String, String>,
}

impl Cli {
    /// A user who has never signed in.
    pub fn new() -> Self {
        let home = TempDir::new().unwrap();
        std::fs::create_dir(home.path().join("project")).unwrap();
        Self { home, environment: BTreeMap::new() }
    }

    /// A user with a server and a credential in the environment, as in CI.
    pub fn with_token(base: &str, token: &str) -> Self {
        Self::new().with("UPDRAFT_URL", base).with("UPDRAFT_TOKEN", token)
    }

    /// Adds a variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The working folder.
    pub fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Writes a file in the working folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A command with these arguments, without a terminal.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.project()).env_clear().envs(self.variables()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The whole environment of a command.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let home = self.home.path().display().to_string();
        let mut variables = BTreeMap::from([
            ("HOME".to_owned(), home.clone()),
            ("XDG_CONFIG_HOME".to_owned(), format!("{home}/.config")),
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
        ]);
        variables.extend(self.environment.clone());
        variables
    }

    /// Runs a command until it exits, with nothing on standard input.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, b"").await
    }

    /// Runs a command until it exits, with this on standard input.
    pub async fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The program may exit without reading.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        end(child).await
    }

    /// Runs a command with `--output json` and returns the document. Expects exit code 0.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--output", "json"]].concat()).await.json()
    }

    /// Runs a command and expects this exit code; returns what it printed.
    pub async fn expect(&self, code: i32, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments).await;
        ended.assert(code);
        ended
    }
}

impl Default for Cli {
    fn default() -> Self {
        Self::new()
    }
}

/// A stand-in for the desktop's browser, for `UPDRAFT_BROWSER`: it writes the address for the test.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The program.
    pub program: PathBuf,
    opened: PathBuf,
}

impl Browser {
    /// In the home of this user.
    pub fn of(cli: &Cli) -> Self {
        Self::within(cli.home())
    }

    /// In this folder.
    pub fn within(folder: &Path) -> Self {
        let (program, opened) = (folder.join("browser"), folder.join("opened"));
        let text = format!("#!/bin/sh\nprintf '%s' \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", opened.display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { program, opened }
    }

    /// Waits for the address that the CLI opens.
    pub async fn opened(&self) -> String {
        until("the CLI opens the browser", async || std::fs::read_to_string(&self.opened).ok()).await
    }

    /// Does what a person does on the page that the CLI opens, over HTTP: signs in, approves, and returns to the CLI.
    pub async fn approve(&self, client: &Client, email: &str, password: &str) {
        let address = self.opened().await;
        let id = address.rsplit('/').next().unwrap();
        let login = client.post("/v1/auth/login", json!({ "email": email, "password": password })).await.assert(200);
        let session = client.with_token(Some(login["accessKey"].as_str().unwrap().to_owned()));
        let approved = session.send(session.request(Method::POST, &format!("/v1/cli/authorizations/{id}/approve"))).await.assert(200);
        client.at(approved["redirectUri"].as_str().unwrap()).get("").await.assert_status(200);
    }
}

/// Waits until a command exits.
pub async fn end(child: Child) -> Ended {
    let output = timeout(patience(), child.wait_with_output()).await.expect("the program exits").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The program in `UPDRAFT_CLI`, otherwise the one built with these tests.
pub fn program() -> PathBuf {
    std::env::var_os("UPDRAFT_CLI").map_or_else(|| built("updraft"), PathBuf::from)
}

impl Ended {
    /// Expects an exit code.
    #[track_caller]
    pub fn assert(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
    }

    /// Expects exit code 0 and exactly one JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.assert(0);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON: {error}: {}\n{}", self.out, self.err))
    }

    /// Expects an error: its exit code, a line that says what happened and one that says what to do. Returns both.
    #[track_caller]
    pub fn error(&self, code: i32) -> (String, String) {
        self.assert(code);
        let what = self.err.lines().find_map(|line| line.strip_prefix("error: "));
        let next = self.err.lines().find_map(|line| line.trim_start().strip_prefix("next: "));
        match (what, next) {
            (Some(what), Some(next)) => (what.to_owned(), next.to_owned()),
            _ => panic!("no error with advice: {}", self.err),
        }
    }
}
