//! A temporary PostgreSQL server for a test run: fresh, on a loopback port, without syncing to disk.

use std::{
    env, fs, io,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use tempfile::TempDir;
use xtask::{
    leash::{self, Leashed, StopBy},
    paths, probe,
};

use crate::session::{Failure, Session, say};

const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A running server. Dropping it stops the server, then removes its files.
pub(crate) struct Cluster {
    port: u16,
    // In this order: the server must stop before its directory is removed.
    _server: Leashed,
    _folder: TempDir,
}

/// The user that the server runs as: PostgreSQL refuses root.
#[derive(Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

impl Cluster {
    pub(crate) fn is_installed() -> bool {
        programs().is_some()
    }

    /// Creates a cluster and starts it. Fails, with the server's output, if it does not start within a minute.
    pub(crate) fn start(session: &Session) -> Result<Self, Failure> {
        let programs =
            programs().ok_or_else(|| Failure::Message("PostgreSQL is required but not installed (initdb was not found)".to_owned()))?;
        let owner = owner(session)?;
        let folder = folder(session, owner)?;
        let data = folder.path().join("data");
        let mut make = Command::new(programs.join("initdb"));
        make.args(["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--pgdata"]).arg(&data);
        session.output(become_owner(&mut make, folder.path(), owner))?;

        let port = probe::free_port()?;
        let mut serve = leash::command(programs.join("postgres"), StopBy::Interrupt);
        serve.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        // Listens only on loopback, since there is no password. Durability is off, since the data is deleted at the end anyway.
        let settings =
            ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "fsync=off", "synchronous_commit=off"];
        for setting in settings.iter().chain(&["full_page_writes=off", "lc_messages=C", "logging_collector=off", "log_destination=stderr"])
        {
            serve.args(["-c", setting]);
        }
        become_owner(&mut serve, folder.path(), owner);
        let (sender, lines) = mpsc::channel();
        // After startup, nobody reads its log.
        let server = Leashed::spawn(serve, StopBy::Interrupt, move |line| drop(sender.send(line.to_owned())))?;
        ready(&lines)?;
        say(format!("started PostgreSQL from {} on 127.0.0.1:{port}", programs.display()));
        Ok(Self { port, _server: server, _folder: folder })
    }

    /// For `TEST_POSTGRES_URL`: the database that tests connect to, to create their own.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

/// The directory of the server's programs: that of `initdb` on `PATH`, else Debian's highest version.
fn programs() -> Option<PathBuf> {
    let linked = paths::on_path("initdb").and_then(|found| fs::canonicalize(found).ok());
    linked.and_then(|program| program.parent().map(Path::to_path_buf)).filter(|folder| folder.join("postgres").is_file()).or_else(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
        let numbered = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))));
        numbered.filter(|(_, folder)| folder.join("initdb").is_file()).max().map(|(_, folder)| folder)
    })
}

/// The user to switch to if this is root: `postgres`, which Debian's package creates, or `nobody`.
fn owner(session: &Session) -> Result<Option<Owner>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let number = |option: &str, name: &str| -> Option<u32> {
        session.output(Command::new("id").args([option, name]).stderr(Stdio::null())).ok()?.trim().parse().ok()
    };
    let find = |name| Some(Owner { user: number("-u", name)?, group: number("-g", name)? });
    let found = find("postgres").or_else(|| find("nobody"));
    found
        .map(Some)
        .ok_or_else(|| Failure::Message("PostgreSQL refuses to run as root, and neither user `postgres` nor `nobody` exists".to_owned()))
}

/// A temporary directory that the server's user can enter: in the default place or else in Unix's traditional ones, because `TMPDIR` may be below a
/// directory that only root can enter.
fn folder(session: &Session, owner: Option<Owner>) -> Result<TempDir, Failure> {
    let make = |parent: &Path| tempfile::Builder::new().prefix("updraft-postgres-").tempdir_in(parent);
    let preferred = env::temp_dir();
    let Some(Owner { user, group }) = owner else { return Ok(make(&preferred)?) };
    for parent in [preferred.as_path(), Path::new("/tmp"), Path::new("/var/tmp")] {
        let Ok(folder) = make(parent) else { continue };
        chown(folder.path(), Some(user), Some(group))?;
        let mut probe_command = Command::new("sh");
        probe_command.args(["-c", r#"cd "$1" && test -w ."#, "sh"]).arg(folder.path()).stderr(Stdio::null());
        if session.output(become_owner(&mut probe_command, Path::new("/"), owner)).is_ok() {
            return Ok(folder);
        }
    }
    Err(Failure::Message(format!(
        "PostgreSQL runs as user {user}, who cannot enter {}, /tmp or /var/tmp: set TMPDIR to a directory that this user can enter",
        preferred.display()
    )))
}

fn become_owner<'c>(command: &'c mut Command, folder: &Path, owner: Option<Owner>) -> &'c mut Command {
    // That user may not be able to enter the current directory.
    command.current_dir(folder).env("LC_ALL", "C");
    if let Some(Owner { user, group }) = owner {
        command.uid(user).gid(group);
    }
    command
}

fn ready(lines: &mpsc::Receiver<String>) -> io::Result<()> {
    let mut printed = Vec::new();
    loop {
        match lines.recv_timeout(START_TIMEOUT) {
            Ok(line) if line.contains("ready to accept connections") => return Ok(()),
            Ok(line) => printed.push(line),
            Err(_) => return Err(io::Error::other(format!("PostgreSQL did not start:\n{}", printed.join("\n")))),
        }
    }
}
