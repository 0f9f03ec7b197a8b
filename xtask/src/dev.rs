//! `cargo xtask dev`: the control plane and the edge on this machine, until Ctrl-C.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use clap::{Args, value_parser};
use serde_json::Value;
use xtask::{
    edge::{Consumer, DevServer},
    leash::{self, Leashed, StopBy},
    paths, private, probe,
};

use crate::{
    secrets::{self, Secrets},
    session::{Failure, Session, cargo, say},
    tools::Kit,
    worker,
};

/// The namespace's id in `wrangler.toml`. An unknown one would be accepted by the local KV interface, and never read.
const KV_NAMESPACE: &str = "updraft-snapshots";
const HEALTH: &str = "/v1/health";
/// A path that the edge answers by itself, without the control plane: with 404.
const EDGE_ALONE: &str = "/internal/";
const GRACE: Duration = Duration::from_secs(10);
/// Between two looks at whether the servers answer, or still run.
const PAUSE: Duration = Duration::from_millis(200);
/// Looks, before a server is given up: a minute, and longer where each look itself must wait.
const LOOKS: u32 = 300;

/// What the developer may choose.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// Where the edge listens
    #[arg(long, default_value_t = 8787, value_parser = value_parser!(u16).range(1..))]
    port: u16,
    /// Where the control plane listens
    #[arg(long, default_value_t = 8080, value_parser = value_parser!(u16).range(1..))]
    control_port: u16,
    /// The data folder
    #[arg(long, default_value = "./data")]
    data: PathBuf,
}

impl Options {
    fn check(&self) -> Result<(), Failure> {
        if self.port == self.control_port { Err(Failure::Said("--port and --control-port must differ".to_owned())) } else { Ok(()) }
    }
}

/// A running program, by the name that its lines are marked with.
struct Program {
    name: &'static str,
    server: Leashed,
}

/// Builds both programs, runs them, and returns when they have been stopped. Fails when one of them ends by itself.
pub(crate) fn run(session: &Session, options: &Options) -> Result<(), Failure> {
    options.check()?;
    let data = std::path::absolute(&options.data)?;
    private::folder(&data)?;
    let _lock = lock(&data)?;
    for (name, port) in [("--port", options.port), ("--control-port", options.control_port)] {
        if !probe::is_free(port) {
            return Err(Failure::Said(format!(
                "port {port} is in use: stop the program that listens on it, or choose another with {name}"
            )));
        }
    }
    let kit = Kit::for_worker(session)?;
    worker::build(session, &kit)?;
    let control = build_control(session)?;
    let secrets = secrets::load(&data)?;

    let worker = worker_of(options, &data, &secrets);
    let mut programs = Vec::new();
    // The edge first: the control plane pushes its snapshots to it from the start.
    programs.push(Program { name: "edge", server: worker.start(|line| println!("edge    | {line}"))? });
    wait(session, &mut programs, "edge", || probe::responds(options.port, EDGE_ALONE))?;
    programs.push(Program { name: "control", server: start_control(options, &control, &data, &worker, &secrets)? });
    wait(session, &mut programs, "control", || probe::answers(options.control_port, HEALTH))?;
    wait(session, &mut programs, "edge", || probe::answers(options.port, HEALTH))?;
    greet(options, &control, &data);

    loop {
        rest(session, &mut programs)?;
        if session.is_interrupted() {
            say("stopping");
            // Control first, so that nothing it still has to say meets an edge that is gone.
            while let Some(mut program) = programs.pop() {
                program.server.stop(GRACE);
            }
            return Ok(());
        }
    }
}

/// Makes this the only `dev` of the data folder: a second one would rewrite what wrangler runs the first one by.
fn lock(data: &Path) -> Result<File, Failure> {
    let file = File::options().append(true).create(true).open(data.join("dev.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = data.display();
            Err(Failure::Said(format!(
                "another `cargo xtask dev` runs on {folder}: choose another folder with --data, and other ports with --port and --control-port"
            )))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Builds the control plane and gives the program.
pub(crate) fn build_control(session: &Session) -> Result<PathBuf, Failure> {
    say("building the control plane");
    let mut build = cargo();
    build.args(["build", "--bin", "updraft-control", "--message-format", "json-render-diagnostics"]);
    let messages = session.output(&mut build)?;
    let executable = |line: &str| Some(PathBuf::from(serde_json::from_str::<Value>(line).ok()?.get("executable")?.as_str()?));
    messages
        .lines()
        .filter_map(executable)
        .next_back()
        .ok_or_else(|| Failure::Said("cargo did not say where updraft-control is".to_owned()))
}

fn worker_of(options: &Options, data: &Path, secrets: &Secrets) -> DevServer {
    let secret = |name: &str| secrets.get(name).cloned().unwrap_or_default();
    DevServer {
        root: paths::root(),
        worker: paths::root().join("edge/build"),
        work: data.join("edge/wrangler"),
        persist: data.join("edge"),
        port: options.port,
        control_url: format!("http://127.0.0.1:{}", options.control_port),
        edge_secret: secret(secrets::EDGE),
        download_secret: secret(secrets::DOWNLOAD),
        variables: BTreeMap::new(),
        reports: Consumer::default(),
    }
}

fn start_control(options: &Options, program: &Path, data: &Path, worker: &DevServer, secrets: &Secrets) -> Result<Leashed, Failure> {
    let mut command = leash::command(program, StopBy::Terminate);
    // Settings that the developer has exported, the log's say, stay; these are the ones that make the two fit together.
    command.arg("serve").current_dir(paths::root()).envs(secrets);
    command.env("UPDRAFT_LISTEN", format!("127.0.0.1:{}", options.control_port)).env("UPDRAFT_BASE_URL", worker.base_url());
    command.env("UPDRAFT_DATA_DIR", data).env("UPDRAFT_KV_API", worker.kv_api());
    command.env("UPDRAFT_KV_NAMESPACE", KV_NAMESPACE).env("UPDRAFT_KV_ACCOUNT", "local").env("UPDRAFT_KV_TOKEN", "local");
    Ok(Leashed::spawn(command, StopBy::Terminate, |line| println!("control | {line}"))?)
}

/// Waits until `is_ready`, while every program runs.
fn wait(session: &Session, programs: &mut [Program], name: &str, is_ready: impl Fn() -> bool) -> Result<(), Failure> {
    for _look in 0..LOOKS {
        if is_ready() {
            return Ok(());
        }
        rest(session, programs)?;
        if session.is_interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    Err(Failure::Said(format!("{name} did not answer within a minute")))
}

/// Lets a moment pass, and fails when a program has ended in it.
fn rest(session: &Session, programs: &mut [Program]) -> Result<(), Failure> {
    let ended = |program: &mut Program, pause| program.server.wait(pause).map(|status| (program.name, status));
    let found: Option<(&str, ExitStatus)> = programs.iter_mut().enumerate().find_map(|(index, program)| {
        // The first wait is the pause; the others only look.
        ended(program, if index == 0 { PAUSE } else { Duration::ZERO })
    });
    match found {
        Some((name, status)) if !session.is_interrupted() => Err(Failure::Said(format!("{name} ended by itself ({status})"))),
        _ => Ok(()),
    }
}

fn greet(options: &Options, control: &Path, data: &Path) {
    let root = paths::root();
    let short = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let program = format!("UPDRAFT_DATA_DIR={} {}", short(data), short(control));
    let edge = format!("http://localhost:{}", options.port);
    println!(
        "
Updraft is up. Ctrl-C stops it.
  dashboard:       {edge}/dashboard
  mails:           {}, as files; their links stand in this log
  devices, API:    {edge}
  control plane:   http://localhost:{}
  data, secrets:   {}

Try this, in another terminal, in {}:
  printf %s 'correct horse battery staple' | {program} account create --email you@example.com --password-stdin
  KEY=$({program} access-key create --email you@example.com --name laptop)
  curl -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' -d '{{\"name\":\"demo\"}}' {edge}/v1/apps
",
        data.join("mail").display(),
        options.control_port,
        data.display(),
        root.display(),
    );
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::{Args, Command, FromArgMatches};

    use super::Options;

    fn parse(arguments: &[&str]) -> Option<Options> {
        let matches = Options::augment_args(Command::new("dev").no_binary_name(true)).try_get_matches_from(arguments).ok()?;
        Options::from_arg_matches(&matches).ok().filter(|options| options.check().is_ok())
    }

    #[test]
    fn options_have_defaults_and_both_forms() {
        assert_eq!(parse(&[]), Some(Options { port: 8787, control_port: 8080, data: PathBuf::from("./data") }));
        let given = Options { port: 9000, control_port: 9001, data: PathBuf::from("elsewhere") };
        assert_eq!(parse(&["--port", "9000", "--control-port=9001", "--data", "elsewhere"]), Some(given));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for arguments in [&["--port"][..], &["--port", "0"], &["--port", "70000"], &["--data="], &["--speed", "9"], &["--port", "8080"]] {
            assert_eq!(parse(arguments), None, "{arguments:?}");
        }
    }
}
