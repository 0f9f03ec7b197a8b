//! Settings of the service itself: its addresses, connections, data and log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;

use super::values::{address, count, dashboard_address, database_address, listen, loopback, networks, pause, root_address};
use crate::http::layer::connections::Bounds;
use crate::infra::db::DatabaseUrl;

/// The service's addresses, and who may register.
#[derive(Args)]
#[command(next_help_heading = "Service")]
pub struct Service {
    /// Public URL of the service, without a path. With an edge, the edge's URL
    #[arg(long, env = "UPDRAFT_BASE_URL", value_name = "URL", default_value = "http://localhost:8080", value_parser = root_address)]
    pub base_url: String,
    /// URL of the dashboard, used for links in emails. Defaults to `UPDRAFT_BASE_URL` plus /dashboard
    #[arg(long, env = "UPDRAFT_DASHBOARD_URL", value_name = "URL", value_parser = dashboard_address)]
    pub dashboard_url: Option<String>,
    /// URL for direct uploads, which bypass the edge's request size limit. Defaults to `UPDRAFT_BASE_URL`
    #[arg(long, env = "UPDRAFT_UPLOAD_URL", value_name = "URL", value_parser = address)]
    pub upload_url: Option<String>,
    /// Address and port that the server listens on
    #[arg(long, env = "UPDRAFT_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = listen)]
    pub listen: SocketAddr,
    /// Loopback address and port where a self-hosted edge on this machine reads snapshots and sends reports
    #[arg(long, env = "UPDRAFT_BINDINGS_LISTEN", value_name = "ADDRESS:PORT", value_parser = loopback)]
    pub bindings_listen: Option<SocketAddr>,
    // `std::vec::Vec`, because clap would treat `Vec` as an argument that can be repeated.
    /// Addresses or networks of proxies whose X-Forwarded-For header is trusted, separated by commas
    #[arg(long, env = "UPDRAFT_TRUSTED_PROXIES", value_name = "NETWORKS", value_parser = networks)]
    pub trusted_proxies: Option<std::vec::Vec<IpNet>>,
    /// Who can create accounts. open: anyone can register. closed: only the command `account create`
    #[arg(long, env = "UPDRAFT_REGISTRATION", default_value = "open", value_enum)]
    pub registration: Registration,
}

/// Who can create accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Registration {
    /// Anyone can register.
    Open,
    /// Only the command `account create`.
    Closed,
}

/// Limits and timeouts of connections.
#[derive(Args)]
#[command(next_help_heading = "Connections")]
pub(super) struct Connections {
    /// HTTP/2 without TLS. on: for clients that start with it, such as a reverse proxy. off: HTTP/1.1 only
    #[arg(long, env = "UPDRAFT_HTTP2", default_value = "off", value_enum)]
    http2: Switch,
    /// Maximum number of concurrent connections. At the limit, a new one replaces the longest idle one, or is refused if none is idle
    #[arg(long, env = "UPDRAFT_MAX_CONNECTIONS", value_name = "COUNT", default_value = "8192", value_parser = count)]
    max_connections: u32,
    /// Maximum number of concurrent connections per client address. Does not apply to this machine, trusted proxies, and edges that sent a
    /// signed request in the last 10 minutes
    #[arg(long, env = "UPDRAFT_LIMIT_CONNECTIONS_ADDRESS", value_name = "COUNT", default_value = "256", value_parser = count)]
    limit_connections_address: u32,
    /// Timeout for receiving a request's headers
    #[arg(long, env = "UPDRAFT_LIMIT_REQUEST_HEAD", value_name = "DURATION", default_value = "10s", value_parser = pause)]
    limit_request_head: Duration,
    /// Idle timeout of a connection: no request, or a client that does not read its response
    #[arg(long, env = "UPDRAFT_LIMIT_CONNECTION_IDLE", value_name = "DURATION", default_value = "60s", value_parser = pause)]
    limit_connection_idle: Duration,
    /// Timeout for receiving the next bytes of a request's body
    #[arg(long, env = "UPDRAFT_LIMIT_BODY_PAUSE", value_name = "DURATION", default_value = "30s", value_parser = pause)]
    limit_body_pause: Duration,
}

/// An on/off switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl From<Connections> for Bounds {
    fn from(given: Connections) -> Self {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            max: count(given.max_connections),
            per_address: count(given.limit_connections_address),
            head: given.limit_request_head,
            idle: given.limit_connection_idle,
            pause: given.limit_body_pause,
            has_http2: given.http2 == Switch::On,
        }
    }
}

/// Where data is stored.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub(super) struct Database {
    /// Folder for the SQLite database, bundles and generated secrets
    #[arg(long, env = "UPDRAFT_DATA_DIR", value_name = "FOLDER", default_value = "./data")]
    pub(super) data_dir: PathBuf,
    /// URL of the database, sqlite:… or postgres://…; defaults to a SQLite file in the data folder. Connections to another machine use TLS
    /// unless the URL sets sslmode=…
    #[arg(long, env = "UPDRAFT_DATABASE_URL", hide = true, value_parser = database_address)]
    pub(super) database_url: Option<DatabaseUrl>,
}

/// Logging.
#[derive(Args)]
#[command(next_help_heading = "Log")]
pub(super) struct Log {
    /// Log level, or a filter such as control=debug
    #[arg(long, env = "UPDRAFT_LOG", value_name = "FILTER", default_value = "info")]
    pub(super) log: String,
    /// Log format: text or json
    #[arg(long, env = "UPDRAFT_LOG_FORMAT", default_value = "text", value_enum)]
    pub(super) log_format: LogFormat,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}
