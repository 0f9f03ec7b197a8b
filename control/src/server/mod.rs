//! Assembles the parts and runs the server until it is told to stop.
//!
//! Only `main` and the tests import this. Start reading at [`build`] and [`router`].

pub mod router;
pub mod sql;
pub mod telemetry;

use std::fs::{File, TryLockError};
use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::{Config, ConfigError};
use crate::domain::accounts;
use crate::domain::context::Context;
use crate::domain::encryption::check;
use crate::domain::error::{Error, Result};
use crate::domain::limits::under_way::UnderWay;
use crate::domain::snapshot::{Snapshots, Source};
use crate::domain::traces::Traces;
use crate::http::devices::Collector;
use crate::http::edge::bindings;
use crate::http::layer::connections::{self, Table, descriptors};
use crate::http::{AppState, Front, HttpSettings};
use crate::infra::challenge::Challenge;
use crate::infra::clock::{Clock, Entropy};
use crate::infra::crypto::password::Passwords;
use crate::infra::db::{ConnectError, Db};
use crate::infra::kv::KvConfig;
use crate::infra::mail::MailConfig;
use crate::infra::storage::Storage;
use crate::infra::wake::Wake;
use crate::infra::webauthn::RelyingParty;
use crate::infra::work::Work;
use crate::jobs::runner::Runner;
use crate::jobs::{self, mail};

/// Maximum memory for cached snapshots, in bytes: four times the text of one account's large snapshots.
const SNAPSHOT_CACHE: usize = 64 << 20;

/// How long in-flight requests may take once the server is told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// Why the server did not start, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A setting is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database cannot be opened.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The bundle storage cannot be opened.
    #[error("the bundle storage cannot be opened")]
    Storage(#[source] std::io::Error),
    /// Another process holds this lock file of the data folder.
    #[error("UPDRAFT_DATA_DIR: another updraft-control is using this folder (it holds {0})")]
    Locked(&'static str),
    /// The database does not match the settings.
    #[error(transparent)]
    Check(#[from] Error),
    /// The server cannot listen on an address.
    #[error("UPDRAFT_{setting}: cannot listen on {address}")]
    Listen {
        /// The setting with the address, without the prefix.
        setting: &'static str,
        /// The configured address.
        address: SocketAddr,
        /// The error from the operating system.
        #[source]
        cause: std::io::Error,
    },
    /// The signal handlers cannot be installed.
    #[error("signal handlers cannot be installed")]
    Signals(#[source] std::io::Error),
    /// Serving failed.
    #[error("serving failed")]
    Serve(#[source] std::io::Error),
}

/// The state of the server, and the settings of the jobs.
#[derive(Debug)]
pub struct Parts {
    /// The state shared by handlers and jobs.
    pub state: AppState,
    jobs: jobs::Settings,
}

/// Opens the database and the storage, and builds the state.
pub async fn build(config: Config, clock: Clock, entropy: Entropy) -> Result<Parts, ServeError> {
    let (context, config) = open(config, "serve.lock", clock, entropy).await?;
    context.storage.clean_temp().await.map_err(ServeError::Storage)?;
    let collector = Collector::start(context.db.clone(), context.clock.clone(), &context.settings.limits);
    let snapshots = Snapshots::new(Source::of(&context), SNAPSHOT_CACHE);
    Ok(Parts {
        state: AppState { context: Arc::new(context), front: Arc::new(Front::new(config.http, collector)), snapshots },
        jobs: jobs::Settings { kv: config.kv, mail: mail::Settings { mail: config.mail, folder: config.data_dir.join("mail") } },
    })
}

/// The context of a long command, which may run beside the server. Only one such command at a time: it holds `import.lock`.
pub async fn open_for_import(config: Config) -> Result<(Context, PathBuf), ServeError> {
    let (context, config) = open(config, "import.lock", Clock::System, Entropy::System).await?;
    Ok((context, config.data_dir.join("import")))
}

/// What of a configuration is not in the context.
struct Rest {
    http: HttpSettings,
    kv: Option<KvConfig>,
    mail: MailConfig,
    data_dir: PathBuf,
}

/// Opens the database and the storage, holding this lock file of the data folder.
async fn open(config: Config, lock_name: &'static str, clock: Clock, entropy: Entropy) -> Result<(Context, Rest), ServeError> {
    install_crypto();
    let db = Db::open(&config.database_url.0).await?;
    check::check(&db, &config.settings.encryption_keys).await?;
    let lock = lock(&config, lock_name)?;
    let storage = Storage::connect(config.storage, config.data_dir.join("blobs")).await.map_err(ServeError::Storage)?;
    let challenge = Challenge::new(config.http.turnstile.clone(), clock.clone(), entropy.clone()).map_err(Error::internal)?;
    let context = Context {
        db,
        storage,
        relying_party: RelyingParty::of(&config.settings.dashboard_url),
        settings: config.settings,
        clock,
        passwords: Passwords::new(entropy.clone()),
        entropy,
        publisher: Wake::default(),
        mailer: Wake::default(),
        differ: Wake::default(),
        challenge,
        callers: Mutex::default(),
        accounts: Mutex::default(),
        uploading_accounts: Mutex::default(),
        importing_accounts: Mutex::default(),
        uploads_under_way: UnderWay::default(),
        uploaders: Mutex::default(),
        traces: Traces::default(),
        inspections: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get))),
        work: Work::default(),
        lock,
    };
    Ok((context, Rest { http: config.http, kv: config.kv, mail: config.mail, data_dir: config.data_dir }))
}

/// Locks the data folder for this process: at startup the storage deletes unfinished uploads, which must not belong to another process.
fn lock(config: &Config, name: &'static str) -> Result<File, ServeError> {
    let path = config.data_dir.join(name);
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(ServeError::Storage)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServeError::Locked(name)),
        Err(TryLockError::Error(error)) => Err(ServeError::Storage(error)),
    }
}

/// A running server.
#[derive(Debug)]
pub struct Running {
    stop: watch::Sender<bool>,
    servers: JoinSet<std::io::Result<()>>,
    jobs: Runner,
    state: AppState,
}

/// Serves on sockets that are already bound, and starts the jobs. `bindings` is the socket for `BINDINGS_LISTEN`.
pub fn spawn<L: Listener<Io = TcpStream, Addr = SocketAddr>>(parts: Parts, listener: L, bindings: Option<TcpListener>) -> Result<Running> {
    let Parts { state, jobs } = parts;
    let (stop, stopped) = watch::channel(false);
    let jobs = jobs::start(&state.context, &state.snapshots, jobs, stopped.clone())?;
    let mut servers = JoinSet::new();
    let clients = Arc::clone(&state.front.connections);
    servers.spawn(connections::serve(listener, clients, router::service(&state), state.clone(), stopped.clone()));
    if let Some(listener) = bindings {
        // A separate table, so that the edge on this machine can connect however many clients there are.
        let edges = Arc::new(Table::new(state.front.settings.connections));
        servers.spawn(connections::serve(listener, edges, bindings::service(&state), state.clone(), stopped));
    }
    Ok(Running { stop, servers, jobs, state })
}

impl Running {
    /// The state shared by the handlers.
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// Accepts no new requests, finishes those in flight, and stops the jobs.
    pub async fn stop(mut self) -> Result<(), ServeError> {
        self.stop.send_replace(true);
        let served = if let Ok(served) = tokio::time::timeout(GRACE, finished(&mut self.servers)).await {
            served
        } else {
            // A client that neither sends nor reads must not keep the process alive; its connection closes with the process.
            tracing::warn!("shutdown grace period is over; in-flight requests are aborted");
            self.servers.abort_all();
            Ok(())
        };
        if tokio::time::timeout(GRACE, self.state.work.finished()).await.is_err() {
            tracing::warn!("shutdown grace period is over; background work is aborted");
        }
        self.jobs.finish().await;
        // Waits for connections that were in use when a job was aborted. If the database has stopped answering, that has no end.
        if tokio::time::timeout(GRACE, self.state.db.close()).await.is_err() {
            tracing::warn!("shutdown grace period is over; connections to the database are dropped");
        }
        // Explicit, because a connection that outlived the grace period may still hold a handle to the state.
        let _ = self.state.lock.unlock();
        served.map_err(ServeError::Serve)
    }

    /// Waits until a server ends on its own, which happens only when it fails.
    pub async fn failed(&mut self) -> ServeError {
        ServeError::Serve(match self.servers.join_next().await {
            Some(Ok(Err(error))) => error,
            Some(Err(error)) => error.into(),
            Some(Ok(Ok(()))) | None => std::io::Error::other("the server stopped unexpectedly"),
        })
    }
}

/// Waits until all servers have ended, and returns the first failure.
async fn finished(servers: &mut JoinSet<std::io::Result<()>>) -> std::io::Result<()> {
    let mut outcome = Ok(());
    while let Some(ended) = servers.join_next().await {
        outcome = outcome.and(ended.unwrap_or_else(|error| Err(error.into())));
    }
    outcome
}

/// Binds a socket of the settings. Returns the actual address too, which differs from the configured one if that has port 0.
async fn bind(setting: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let local = listener.local_addr()?;
        Ok((listener, local))
    };
    bound.await.map_err(|cause| ServeError::Listen { setting, address, cause })
}

/// The `serve` command: runs until SIGINT or SIGTERM.
pub async fn run(mut config: Config) -> Result<(), ServeError> {
    config.http.connections.max = descriptors::fit(config.http.connections.max);
    let (listener, local) = bind("LISTEN", config.listen).await?;
    let bindings = match config.bindings_listen {
        Some(address) => Some(bind("BINDINGS_LISTEN", address).await?),
        None => None,
    };
    let parts = build(config, Clock::System, Entropy::System).await?;
    let stopped = stop_signal().map_err(ServeError::Signals)?;
    announce(&parts.state, local, bindings.as_ref().map(|(_, local)| *local)).await?;
    let mut running = spawn(parts, listener, bindings.map(|(listener, _)| listener))?;
    tokio::select! {
        () = stopped => {
            tracing::info!("stopping");
            running.stop().await
        }
        error = running.failed() => Err(error),
    }
}

/// Prints the service's address and, if the database is empty, the first steps.
async fn announce(state: &AppState, local: SocketAddr, bindings: Option<SocketAddr>) -> Result<(), ServeError> {
    let (edge, database) = (state.settings.has_edge, state.db.durability().await.map_err(Error::from)?);
    tracing::info!(version = env!("CARGO_PKG_VERSION"), address = %local, base_url = state.settings.base_url, edge, database, "serving");
    print_line(&format!("Updraft {} listens on http://{local}; public URL: {}", env!("CARGO_PKG_VERSION"), state.settings.base_url));
    if let Some(bindings) = bindings {
        print_line(&format!("Bindings for a self-hosted edge: {bindings}"));
    }
    let mut tx = state.db.read().await.map_err(Error::from)?;
    if accounts::repo::count(&mut tx).await.map_err(Error::from)? == 0 {
        print_line("There is no account yet. Create the first account and access key with the same settings as this process:");
        print_line("  echo 'a long passphrase' | updraft-control account create --email you@example.com --password-stdin");
        print_line("  updraft-control access-key create --email you@example.com --name first");
    }
    Ok(())
}

/// Prints a line to standard output, for a person who starts the server by hand. A closed standard output is not an error.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Installs handlers for SIGINT and SIGTERM; the returned future completes when one arrives. Called before the service is announced: without the
/// handlers, a signal would kill the process at once.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Installs the TLS provider for outgoing requests. Only the first call takes effect, so tests can build many servers in one process.
pub fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
