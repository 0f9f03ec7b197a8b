//! The runtime of Workers by itself, without wrangler and Node: what a self-hosted edge runs on, and what load is measured with.

use std::{
    collections::BTreeMap,
    env, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::leash::{self, Leashed, StopBy};

/// One `workerd serve`: a configuration file as it lies there, and what a start gives in addition to it.
#[derive(Clone, Debug)]
pub struct Workerd {
    /// The repository's root, with `node_modules` installed, whose workerd is the one that wrangler pins.
    pub root: PathBuf,
    /// The configuration: a Cap'n Proto file. What it embeds must be there.
    pub config: PathBuf,
    /// Where each of its sockets listens, by name.
    pub sockets: BTreeMap<String, SocketAddr>,
    /// Where each of its external services is, by name: `HOST:PORT`.
    pub externals: BTreeMap<String, String>,
    /// What its `fromEnvironment` bindings read; nothing else of this process's environment reaches it.
    pub environment: BTreeMap<String, String>,
}

impl Workerd {
    /// Starts it; each line that it prints is given to `line`. Ready once [`crate::probe::responds`] says so: it prints nothing of it.
    ///
    /// Fails, saying what is missing, as [`Workerd::command`] does; a configuration that it cannot read ends it with a status that is not 0.
    pub fn start(&self, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Leashed> {
        Leashed::spawn(self.command()?, StopBy::Terminate, line)
    }

    /// The command that [`Workerd::start`] starts: its own process group, on a leash (see [`leash::command`]).
    ///
    /// Fails when the npm packages are not installed, or there is no such configuration.
    pub fn command(&self) -> io::Result<Command> {
        if !self.config.is_file() {
            return Err(io::Error::other(format!("{} is missing", self.config.display())));
        }
        let mut command = leash::command(program(&self.root)?, StopBy::Terminate);
        command.args(self.arguments());
        command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path))).envs(&self.environment);
        Ok(command)
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["serve".to_owned(), self.config.display().to_string()];
        arguments.extend(self.sockets.iter().map(|(name, address)| format!("--socket-addr={name}={address}")));
        arguments.extend(self.externals.iter().map(|(name, address)| format!("--external-addr={name}={address}")));
        arguments
    }
}

/// The runtime itself, which wrangler's packages bring: a program that needs nothing beside it, unlike the script in `node_modules/.bin`.
///
/// Fails, saying what to do, when it is not there for this system.
pub fn program(root: &Path) -> io::Result<PathBuf> {
    let system = match env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match env::consts::ARCH {
        "x86_64" => "64",
        "aarch64" => "arm64",
        other => other,
    };
    let program = root.join(format!("node_modules/@cloudflare/workerd-{system}-{processor}/bin/workerd"));
    if program.is_file() {
        return Ok(program);
    }
    Err(io::Error::other(format!("{} is missing: run `npm ci`, or any `cargo xtask` command, first", program.display())))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use super::Workerd;

    #[test]
    fn sockets_and_external_services_are_named_on_the_command_line() {
        let workerd = Workerd {
            root: PathBuf::from("/repository"),
            config: PathBuf::from("/repository/workerd.capnp"),
            sockets: BTreeMap::from([("http".to_owned(), ([127, 0, 0, 1], 8787).into())]),
            externals: BTreeMap::from([("control".to_owned(), "127.0.0.1:8080".to_owned())]),
            environment: BTreeMap::new(),
        };
        let expected =
            ["serve", "/repository/workerd.capnp", "--socket-addr=http=127.0.0.1:8787", "--external-addr=control=127.0.0.1:8080"];
        assert_eq!(workerd.arguments(), expected);
    }
}
