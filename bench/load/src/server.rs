//! The servers under test: the control plane as shipped, and an empty handler, both on a leash.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use xtask::leash::{self, Leashed, StopBy};
use xtask::{paths, probe};

use crate::Failure;
use crate::checks::CHECKS;
use crate::figures::number;

/// The timeout for startup.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A dummy secret, for a service that only this machine can reach.
pub(crate) const SECRET: &str = "a-text-that-is-no-secret-but-as-long-as-one";

/// A running program.
pub(crate) struct Server {
    leash: Leashed,
    /// Its port on loopback.
    pub(crate) port: u16,
    output: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts the control plane with this data directory, pinned to `core` if given.
    pub(crate) async fn control(data: &Path, core: Option<usize>, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let port = probe::free_port()?;
        let mut command = on_core(&control()?, core);
        command.arg("serve").env_clear().env("UPDRAFT_DATA_DIR", data).env("UPDRAFT_LISTEN", format!("127.0.0.1:{port}"));
        command.env("UPDRAFT_EDGE_SECRET", SECRET).env("UPDRAFT_DOWNLOAD_SECRET", SECRET);
        // Measure the work, not the rate limit.
        command
            .env("UPDRAFT_LIMIT_REPORTS", "1000000000/1s")
            .env("UPDRAFT_LIMIT_REPORTS_ADDRESS", "1000000000/1s")
            .envs(settings.iter().copied());
        Self::start(command, port, "/v1/health?live").await
    }

    /// Starts an empty handler, served in the same mode as the control plane.
    pub(crate) async fn empty(core: Option<usize>) -> Result<Self, Failure> {
        let port = probe::free_port()?;
        let mut command = on_core(&std::env::current_exe()?, core);
        command.args(["empty", &port.to_string()]);
        Self::start(command, port, CHECKS).await
    }

    async fn start(command: std::process::Command, port: u16, path: &str) -> Result<Self, Failure> {
        let output = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&output);
        let leash = Leashed::spawn(command, StopBy::Terminate, move |line| {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        })?;
        let mut server = Self { leash, port, output };
        let began = Instant::now();
        while !probe::responds(port, path) {
            if server.leash.status().is_some() || began.elapsed() > START_TIMEOUT {
                return Err(format!("the server did not start:\n{}", server.output().join("\n")).into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// The lines printed so far.
    pub(crate) fn output(&self) -> Vec<String> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The CPU time used so far, in seconds.
    pub(crate) fn cpu(&self) -> Result<f64, Failure> {
        cpu(&self.leash.id().to_string())
    }

    /// The CPU time that its threads have used so far, in microseconds, as the scheduler counts it. Finer than [`Self::cpu`], but without the time
    /// of threads that have ended.
    pub(crate) fn scheduled(&self) -> Result<f64, Failure> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.leash.id()))? {
            // A thread may end between the two calls.
            let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
            nanoseconds += text.split(' ').next().and_then(|run| run.parse::<u64>().ok()).ok_or("no scheduler statistics")?;
        }
        Ok(number(nanoseconds) / 1e3)
    }

    /// The peak memory, in MiB.
    pub(crate) fn peak(&self) -> Result<u64, Failure> {
        self.memory("VmHWM:")
    }

    /// The resident memory, in MiB.
    pub(crate) fn resident(&self) -> Result<u64, Failure> {
        self.memory("VmRSS:")
    }

    fn memory(&self, name: &str) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.leash.id()))?;
        let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        Ok(kib.ok_or("no memory figure")? / 1024)
    }

    /// Stops it gracefully.
    pub(crate) fn stop(mut self) {
        self.leash.stop(Duration::from_secs(30));
    }
}

/// A command on a leash, pinned to a core if given.
fn on_core(program: &Path, core: Option<usize>) -> std::process::Command {
    let Some(core) = core else { return leash::command(program, StopBy::Terminate) };
    let mut command = leash::command("taskset", StopBy::Terminate);
    command.args(["--cpu-list", &core.to_string()]).arg(program);
    command
}

/// The core to pin servers to: the second, if there are at least two and `taskset` is available.
pub(crate) fn one_core() -> Option<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores > 1 && paths::on_path("taskset").is_some()).then_some(1)
}

/// The path of `updraft-control`: from `UPDRAFT_CONTROL`, else next to this program, or to the folder of this test.
fn control() -> Result<PathBuf, Failure> {
    let given = std::env::var_os("UPDRAFT_CONTROL").map(PathBuf::from);
    let found = if let Some(given) = given {
        given
    } else {
        let own = std::env::current_exe()?;
        let folder = own.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
        folder.ok_or("this program is in no folder")?.join("updraft-control")
    };
    if found.is_file() { Ok(found) } else { Err(format!("{} is missing: build it first", found.display()).into()) }
}

/// The CPU time that a process (`self` for this one) has used so far, in seconds. Linux only.
pub(crate) fn cpu(process: &str) -> Result<f64, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name before `)` may contain spaces. After it, fields 12 and 13 are user and system time in ticks, 100 per second.
    let (_, fields) = stat.rsplit_once(')').ok_or("no process state")?;
    Ok(fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

/// Serves an empty handler until the process is stopped.
pub(crate) async fn serve_empty(port: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse()?)).await?;
    let router = Router::new().route(CHECKS, get(async || "ok"));
    Ok(axum::serve(listener, router.into_make_service_with_connect_info::<std::net::SocketAddr>()).await?)
}
