//! The program `updraft-control` built with these tests: run until it exits, or serving.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Client;
use crate::process::Process;
use crate::wait::{patience, until};

/// The result of running the program.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// The program in `UPDRAFT_CONTROL`, otherwise the one built with these tests: `target/<profile>/deps/<test>-…` is next to
/// `target/<profile>/updraft-control`.
pub fn program() -> PathBuf {
    if let Some(given) = std::env::var_os("UPDRAFT_CONTROL") {
        return given.into();
    }
    built("updraft-control")
}

/// A program built with these tests.
pub(crate) fn built(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let built = here.ancestors().nth(2).unwrap().join(name);
    assert!(built.is_file(), "{} does not exist: build the workspace first", built.display());
    built
}

/// Runs a command until it exits, with only these settings by their full names.
pub async fn run(settings: &BTreeMap<String, String>, arguments: &[&str]) -> Ended {
    run_other(&program(), settings, arguments, "").await
}

/// The same for another program, such as an earlier release, with this standard input.
pub async fn run_other(program: &Path, settings: &BTreeMap<String, String>, arguments: &[&str], input: &str) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(settings).kill_on_drop(true);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It is fine if the program exits before it reads its input.
    let _ended = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = timeout(patience(), child.wait_with_output()).await.expect("the program exits").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The program, serving on a free port.
#[derive(Debug)]
pub struct Serving {
    /// Its URL, without a trailing slash.
    pub base: String,
    child: Child,
    errors: JoinHandle<String>,
    // Read continuously, so that the program never blocks on a full pipe.
    _printed: JoinHandle<String>,
}

impl Serving {
    /// Starts it with only these settings by their full names.
    pub async fn start(settings: &BTreeMap<String, String>) -> Self {
        let mut command = Command::new(program());
        command.arg("serve");
        Self::start_as(command, settings).await
    }

    /// Another program with its own settings, such as an earlier release. It listens on `UPDRAFT_LISTEN`, which the settings have.
    pub async fn start_other(program: &Path, settings: &BTreeMap<String, String>) -> Self {
        let mut command = Command::new(program);
        command.arg("serve");
        Self::start_as(command, settings).await
    }

    /// The same with a limit of open files.
    pub async fn start_within(descriptors: u32, settings: &BTreeMap<String, String>) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("ulimit -n {descriptors} && exec \"$0\" serve")).arg(program());
        Self::start_as(command, settings).await
    }

    /// The same, with the data folder on a file system of its own, which has `size` as `mount` takes it and begins with what the folder has. Others see it only
    /// through the program's [`root`](Self::root).
    pub async fn start_on_small_disk(size: &str, settings: &BTreeMap<String, String>) -> Self {
        let mut command = Command::new("unshare");
        // Root of its own user namespace, unless it is root anyway.
        command.args(if rustix::process::getuid().is_root() { ["--mount", "--"] } else { ["--mount", "--map-root-user"] });
        let script = format!(
            "cp -a \"$UPDRAFT_DATA_DIR\" \"$UPDRAFT_DATA_DIR.before\" && mount -t tmpfs -o size={size} tmpfs \"$UPDRAFT_DATA_DIR\" && \
             cp -a \"$UPDRAFT_DATA_DIR.before/.\" \"$UPDRAFT_DATA_DIR\" && exec \"$0\" serve"
        );
        command.arg("/bin/sh").arg("-c").arg(script).arg(program());
        Self::start_as(command, settings).await
    }

    /// The root of the file system as the program sees it.
    pub fn root(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.process().0))
    }

    async fn start_as(mut command: Command, settings: &BTreeMap<String, String>) -> Self {
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("UPDRAFT_LISTEN", "127.0.0.1:0")
            .envs(settings)
            .kill_on_drop(true);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let errors = tokio::spawn(all(child.stderr.take().unwrap()));
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        timeout(patience(), printed.read_line(&mut first)).await.expect("the program prints its listening address").unwrap();
        let base = first.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
        let base = base.unwrap_or_else(|| panic!("no address: {first}")).trim_end_matches([';', ',']).to_owned();
        let client = Client::new(&base, None);
        until("the program responds", async || (client.get("/v1/health").await.status == 200).then_some(())).await;
        Self { base, child, errors, _printed: tokio::spawn(all(printed)) }
    }

    /// Its process.
    pub fn process(&self) -> Process {
        Process(self.child.id().expect("the program is still running"))
    }

    /// Kills it (SIGKILL), like a crash.
    pub async fn kill(mut self) {
        timeout(patience(), self.child.kill()).await.expect("the program exits").unwrap();
    }

    /// Shuts it down, and returns its standard error.
    pub async fn stop(mut self) -> String {
        let id = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        let status = timeout(patience(), self.child.wait()).await.expect("the program exits").unwrap();
        assert!(status.success(), "{status}");
        self.errors.await.unwrap()
    }
}

async fn all(mut from: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).await.unwrap();
    text
}
