//! The Workers runtime without wrangler and Node.js: for a self-hosted edge, and for load tests.

use std::{
    collections::BTreeMap,
    env, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::leash::{self, Leashed, StopBy};

/// A `workerd serve` process: an unmodified configuration file, and the settings for this start.
#[derive(Clone, Debug)]
pub struct Workerd {
    /// The repository's root, with `node_modules` installed; uses the workerd that wrangler pins.
    pub root: PathBuf,
    /// The configuration, a Cap'n Proto file. Files that it embeds must exist.
    pub config: PathBuf,
    /// The address of each socket, by name.
    pub sockets: BTreeMap<String, SocketAddr>,
    /// The `HOST:PORT` of each external service, by name.
    pub externals: BTreeMap<String, String>,
    /// The environment for `fromEnvironment` bindings. Apart from `PATH`, nothing else of this process's environment is passed on.
    pub environment: BTreeMap<String, String>,
}

impl Workerd {
    /// Starts it and calls `line` with each line that it prints. It prints nothing when ready: use [`crate::probe::responds`].
    ///
    /// Fails as [`Workerd::command`] does, with what is missing. With an invalid configuration, it exits with a nonzero status.
    pub fn start(&self, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Leashed> {
        Leashed::spawn(self.command()?, StopBy::Terminate, line)
    }

    /// The command for [`Workerd::start`]: with its own process group, on a leash (see [`leash::command`]).
    ///
    /// Fails if the npm packages are not installed or the configuration does not exist.
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

/// The runtime from wrangler's packages: a standalone program, unlike the script in `node_modules/.bin`.
///
/// Fails, with instructions, if it is missing for this system.
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
    fn sockets_and_external_services_are_passed_as_options() {
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
