//! The programs that are asked: the control plane as it is shipped, and a handler that does nothing, both on a leash.

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

/// How long a start may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A secret as good as any, for a service that nobody else reaches.
pub(crate) const SECRET: &str = "a-text-that-is-no-secret-but-as-long-as-one";

/// A running program.
pub(crate) struct Server {
    leash: Leashed,
    /// Where it listens, on loopback.
    pub(crate) port: u16,
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// The control plane on the data of this folder; `core` is the only one that it may run on.
    pub(crate) async fn control(data: &Path, core: Option<usize>, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let port = probe::free_port()?;
        let mut command = on_core(&control()?, core);
        command.arg("serve").env_clear().env("UPDRAFT_DATA_DIR", data).env("UPDRAFT_LISTEN", format!("127.0.0.1:{port}"));
        command.env("UPDRAFT_EDGE_SECRET", SECRET).env("UPDRAFT_DOWNLOAD_SECRET", SECRET);
        // What is measured is the work, not the limit.
        command
            .env("UPDRAFT_LIMIT_REPORTS", "1000000000/1s")
            .env("UPDRAFT_LIMIT_REPORTS_ADDRESS", "1000000000/1s")
            .envs(settings.iter().copied());
        Self::start(command, port, "/v1/health?live").await
    }

    /// A handler that does nothing, served as the control plane serves its own.
    pub(crate) async fn empty(core: Option<usize>) -> Result<Self, Failure> {
        let port = probe::free_port()?;
        let mut command = on_core(&std::env::current_exe()?, core);
        command.args(["empty", &port.to_string()]);
        Self::start(command, port, CHECKS).await
    }

    async fn start(command: std::process::Command, port: u16, path: &str) -> Result<Self, Failure> {
        let said = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&said);
        let leash = Leashed::spawn(command, StopBy::Terminate, move |line| {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        })?;
        let mut server = Self { leash, port, said };
        let began = Instant::now();
        while !probe::responds(port, path) {
            if server.leash.status().is_some() || began.elapsed() > PATIENCE {
                return Err(format!("the server did not come up:\n{}", server.said().join("\n")).into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// The lines that it has printed.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The CPU time that it has used so far, in seconds.
    pub(crate) fn cpu(&self) -> Result<f64, Failure> {
        cpu(&self.leash.id().to_string())
    }

    /// The most memory that it has had, in MiB.
    pub(crate) fn peak(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.leash.id()))?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        Ok(kib.ok_or("no VmHWM")? / 1024)
    }

    /// Stops it in order.
    pub(crate) fn stop(mut self) {
        self.leash.stop(Duration::from_secs(30));
    }
}

/// A command on a leash, held to one core where that is asked for.
fn on_core(program: &Path, core: Option<usize>) -> std::process::Command {
    let Some(core) = core else { return leash::command(program, StopBy::Terminate) };
    let mut command = leash::command("taskset", StopBy::Terminate);
    command.args(["--cpu-list", &core.to_string()]).arg(program);
    command
}

/// The core for what is measured alone: the second, where there are two and the means to hold it there.
pub(crate) fn one_core() -> Option<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores > 1 && paths::on_path("taskset").is_some()).then_some(1)
}

/// `updraft-control`: what `UPDRAFT_CONTROL` names, else the one beside this program.
fn control() -> Result<PathBuf, Failure> {
    let given = std::env::var_os("UPDRAFT_CONTROL").map(PathBuf::from);
    let found = match given {
        Some(given) => given,
        None => std::env::current_exe()?.with_file_name("updraft-control"),
    };
    if found.is_file() { Ok(found) } else { Err(format!("{} is not there: build it first", found.display()).into()) }
}

/// The CPU time that a process (`self` for this one) has used so far, in seconds, as Linux tells it.
pub(crate) fn cpu(process: &str) -> Result<f64, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name before it may hold spaces. Of what follows, fields 12 and 13 are the ticks in and under the program, a hundred in a second.
    let (_, fields) = stat.rsplit_once(')').ok_or("no process state")?;
    Ok(fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

/// Serves a handler that does nothing, until the process is ended.
pub(crate) async fn serve_empty(port: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse()?)).await?;
    let router = Router::new().route(CHECKS, get(async || "ok"));
    Ok(axum::serve(listener, router.into_make_service_with_connect_info::<std::net::SocketAddr>()).await?)
}
