//! `cargo xtask dev`: runs the control plane and the edge on this machine until Ctrl-C.
//!
//! The control plane is built first and answers at the edge's address until the edge is ready, because building the edge takes minutes on a new machine.

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
    front::Front,
    leash::{self, Leashed, StopBy},
    paths, private, probe,
};

use crate::{
    secrets::{self, Secrets},
    session::{Failure, Session, cargo, say},
    tools::Kit,
    worker,
};

/// The namespace ID in `wrangler.toml`. The local KV API would accept an unknown ID, but the Worker would never read from it.
const KV_NAMESPACE: &str = "updraft-snapshots";
const HEALTH: &str = "/v1/health";
/// A path that the edge answers without the control plane: with 404.
const EDGE_ALONE: &str = "/internal/";
/// The setting that the dev command sets itself.
const BASE_URL: &str = "UPDRAFT_BASE_URL";
const GRACE: Duration = Duration::from_secs(10);
/// The pause between two checks of whether the servers answer or still run.
const PAUSE: Duration = Duration::from_millis(200);
/// The checks before giving up on a server: a minute in total, longer if the checks themselves wait.
const MAX_CHECKS: u32 = 300;

/// The command's options.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// Port of the edge
    #[arg(long, default_value_t = 8787, value_parser = value_parser!(u16).range(1..))]
    port: u16,
    /// Port of the control plane
    #[arg(long, default_value_t = 8080, value_parser = value_parser!(u16).range(1..))]
    control_port: u16,
    /// Data directory
    #[arg(long, default_value = "./data")]
    data: PathBuf,
}

impl Options {
    fn check(&self) -> Result<(), Failure> {
        if self.port == self.control_port { Err(Failure::Message("--port and --control-port must differ".to_owned())) } else { Ok(()) }
    }
}

/// A running program, with the name that prefixes its log lines.
struct Program {
    name: &'static str,
    server: Leashed,
}

/// Builds and starts both programs, and returns after they have been stopped. Fails if one of them exits.
pub(crate) fn run(session: &Session, options: &Options) -> Result<(), Failure> {
    options.check()?;
    check_base_url(std::env::var(BASE_URL).ok().as_deref(), options.port)?;
    let data = std::path::absolute(&options.data)?;
    private::folder(&data)?;
    let _lock = lock(&data)?;
    for (name, port) in [("--port", options.port), ("--control-port", options.control_port)] {
        if !probe::is_free(port) {
            return Err(Failure::Message(format!(
                "port {port} is in use: stop the program that listens on it, or choose another port with {name}"
            )));
        }
    }
    say("step 1 of 4: building the control plane (about 5 minutes the first time on two cores, then seconds)");
    let control = build_program(session, "updraft-control")?;
    let secrets = secrets::load(&data)?;
    let worker = worker_of(options, &data, &secrets)?;
    let mut programs = vec![Program { name: "control", server: start_control(options, &control, &data, &worker, &secrets)? }];
    wait(session, &mut programs, "control", || probe::answers(options.control_port, HEALTH))?;
    // The control plane serves devices as well, at the address that will be the edge's.
    let front = Front::listen(options.port, options.control_port)?;
    say(format!("the control plane answers at http://localhost:{}", options.port));
    say("step 2 of 4: building the CLI (about 2 minutes the first time, then seconds)");
    let cli = build_program(session, "updraft")?;
    greet(options, &control, &cli, &data);

    say("step 3 of 4: preparing the edge (about 5 minutes the first time, then seconds)");
    say("until the edge is ready, the control plane answers for it; ignore its warnings that KV cannot be reached");
    let kit = Kit::for_worker(session)?;
    worker::build(session, &kit)?;
    pause(session, &mut programs)?;
    say("step 4 of 4: starting the edge (seconds)");
    programs.push(Program { name: "edge", server: worker.start(|line| println!("edge    | {line}"))? });
    wait(session, &mut programs, "edge", || probe::responds(worker.port, EDGE_ALONE) && probe::answers(worker.port, HEALTH))?;
    front.forward_to(worker.port);
    say(format!("the edge is ready and answers at {}", worker.base_url()));

    loop {
        pause(session, &mut programs)?;
        if session.is_interrupted() {
            say("stopping");
            // The control plane first: it may still push snapshots to the edge.
            for mut program in programs {
                program.server.stop(GRACE);
            }
            return Ok(());
        }
    }
}

/// An exported base URL is not used here. One with a path is refused all the same, as control and Worker do, because it could not be deployed.
fn check_base_url(exported: Option<&str>, port: u16) -> Result<(), Failure> {
    let Some(url) = exported.filter(|url| !url.is_empty()) else { return Ok(()) };
    let host = url.split_once("://").map_or(url, |(_, host)| host);
    if host.trim_end_matches('/').contains('/') {
        return Err(Failure::Message(format!(
            "{BASE_URL} must have no path: {url}. Unset it; this command serves at http://localhost:{port}"
        )));
    }
    Ok(())
}

/// Locks the data directory: a second `dev` would overwrite the configuration of the first one's wrangler.
fn lock(data: &Path) -> Result<File, Failure> {
    let file = File::options().append(true).create(true).open(data.join("dev.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = data.display();
            Err(Failure::Message(format!(
                "another `cargo xtask dev` is using {folder}: choose another directory with --data, and other ports with --port and --control-port"
            )))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Builds a program and returns its path.
pub(crate) fn build_program(session: &Session, name: &str) -> Result<PathBuf, Failure> {
    let mut build = cargo();
    build.args(["build", "--bin", name, "--message-format", "json-render-diagnostics"]);
    let messages = session.output(&mut build)?;
    let executable = |line: &str| Some(PathBuf::from(serde_json::from_str::<Value>(line).ok()?.get("executable")?.as_str()?));
    messages.lines().filter_map(executable).next_back().ok_or_else(|| Failure::Message(format!("cargo did not report the path of {name}")))
}

fn worker_of(options: &Options, data: &Path, secrets: &Secrets) -> Result<DevServer, Failure> {
    let secret = |name: &str| secrets.get(name).cloned().unwrap_or_default();
    Ok(DevServer {
        root: paths::root(),
        worker: paths::root().join("edge/build"),
        work: data.join("edge/wrangler"),
        persist: data.join("edge"),
        port: probe::free_port()?,
        public_port: options.port,
        control_url: format!("http://127.0.0.1:{}", options.control_port),
        edge_secret: secret(secrets::EDGE),
        download_secret: secret(secrets::DOWNLOAD),
        variables: BTreeMap::new(),
        reports: Consumer::default(),
    })
}

fn start_control(options: &Options, program: &Path, data: &Path, worker: &DevServer, secrets: &Secrets) -> Result<Leashed, Failure> {
    let mut command = leash::command(program, StopBy::Terminate);
    // Other exported settings, such as the log level, stay; these connect the two programs.
    command.arg("serve").current_dir(paths::root()).envs(secrets);
    command.env("UPDRAFT_LISTEN", format!("127.0.0.1:{}", options.control_port)).env(BASE_URL, worker.base_url());
    command.env("UPDRAFT_DATA_DIR", data).env("UPDRAFT_KV_API", worker.kv_api());
    command.env("UPDRAFT_KV_NAMESPACE", KV_NAMESPACE).env("UPDRAFT_KV_ACCOUNT", "local").env("UPDRAFT_KV_TOKEN", "local");
    Ok(Leashed::spawn(command, StopBy::Terminate, |line| println!("control | {line}"))?)
}

/// Waits until `is_ready`; fails if a program exits before.
fn wait(session: &Session, programs: &mut [Program], name: &str, is_ready: impl Fn() -> bool) -> Result<(), Failure> {
    for _check in 0..MAX_CHECKS {
        if is_ready() {
            return Ok(());
        }
        pause(session, programs)?;
        if session.is_interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    Err(Failure::Message(format!("{name} did not answer within a minute")))
}

/// Pauses for a moment; fails if a program has exited.
fn pause(session: &Session, programs: &mut [Program]) -> Result<(), Failure> {
    let ended = |program: &mut Program, pause| program.server.wait(pause).map(|status| (program.name, status));
    let found: Option<(&str, ExitStatus)> = programs.iter_mut().enumerate().find_map(|(index, program)| {
        // Only the first wait pauses; the others poll.
        ended(program, if index == 0 { PAUSE } else { Duration::ZERO })
    });
    match found {
        Some((name, status)) if !session.is_interrupted() => Err(Failure::Message(format!("{name} exited unexpectedly ({status})"))),
        _ => Ok(()),
    }
}

fn greet(options: &Options, control: &Path, cli: &Path, data: &Path) {
    let root = paths::root();
    let short = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let (data_folder, control, cli) = (short(data), short(control), short(cli));
    let edge = format!("http://localhost:{}", options.port);
    println!(
        "
Updraft is running. Press Ctrl-C to stop.
  dashboard:       {edge}/dashboard
  emails:          {} (files; their links are also in this log)
  SDKs, API:       {edge}
  control plane:   http://localhost:{}
  data, secrets:   {}

Try this, in another terminal, in {}:
  echo 'correct horse battery staple' | UPDRAFT_DATA_DIR={data_folder} {control} account create --email you@example.com --password-stdin
  {cli} login --server {edge}
  {cli} app create demo
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

    use super::{Options, check_base_url};

    #[test]
    fn an_exported_base_url_has_no_path() {
        for good in [None, Some(""), Some("https://updates.example.com"), Some("http://localhost:8787/")] {
            assert!(check_base_url(good, 8787).is_ok(), "{good:?}");
        }
        for bad in ["https://example.com/updates", "http://localhost:8787/v1/", "example.com/x"] {
            assert!(check_base_url(Some(bad), 8787).is_err(), "{bad}");
        }
    }

    fn parse(arguments: &[&str]) -> Option<Options> {
        let matches = Options::augment_args(Command::new("dev").no_binary_name(true)).try_get_matches_from(arguments).ok()?;
        Options::from_arg_matches(&matches).ok().filter(|options| options.check().is_ok())
    }

    #[test]
    fn options_have_defaults_and_accept_both_forms() {
        assert_eq!(parse(&[]), Some(Options { port: 8787, control_port: 8080, data: PathBuf::from("./data") }));
        let given = Options { port: 9000, control_port: 9001, data: PathBuf::from("elsewhere") };
        assert_eq!(parse(&["--port", "9000", "--control-port=9001", "--data", "elsewhere"]), Some(given));
    }

    #[test]
    fn invalid_options_are_rejected() {
        for arguments in [&["--port"][..], &["--port", "0"], &["--port", "70000"], &["--data="], &["--speed", "9"], &["--port", "8080"]] {
            assert_eq!(parse(arguments), None, "{arguments:?}");
        }
    }
}
