//! Where the service is reached and listens, its connections, its data, its log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;

use super::values::{address, count, dashboard_address, database_address, listen, loopback, networks, pause, root_address};
use crate::http::layer::connections::Bounds;
use crate::infra::db::DatabaseUrl;

/// Where the service is reached, and by whom.
#[derive(Args)]
#[command(next_help_heading = "Service")]
pub struct Service {
    /// The address under which clients reach the service, without a path; the edge's when there is one
    #[arg(long, env = "UPDRAFT_BASE_URL", value_name = "URL", default_value = "http://localhost:8080", value_parser = root_address)]
    pub base_url: String,
    /// The address of the dashboard's pages, to which mails lead; the base address and /dashboard when not set
    #[arg(long, env = "UPDRAFT_DASHBOARD_URL", value_name = "URL", value_parser = dashboard_address)]
    pub dashboard_url: Option<String>,
    /// Where uploads go directly, past the edge's body limit; the base address when not set
    #[arg(long, env = "UPDRAFT_UPLOAD_URL", value_name = "URL", value_parser = address)]
    pub upload_url: Option<String>,
    /// Where the server listens
    #[arg(long, env = "UPDRAFT_LISTEN", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = listen)]
    pub listen: SocketAddr,
    /// Where a self-hosted edge on this machine finds snapshots and leaves reports: a loopback address and a port
    #[arg(long, env = "UPDRAFT_BINDINGS_LISTEN", value_name = "ADDRESS:PORT", value_parser = loopback)]
    pub bindings_listen: Option<SocketAddr>,
    // The path, because clap would take `Vec` for an argument that is given several times.
    /// Addresses or networks, comma-separated, whose X-Forwarded-For is believed
    #[arg(long, env = "UPDRAFT_TRUSTED_PROXIES", value_name = "NETWORKS", value_parser = networks)]
    pub trusted_proxies: Option<std::vec::Vec<IpNet>>,
    /// open: strangers may register; closed: only this program's command creates accounts
    #[arg(long, env = "UPDRAFT_REGISTRATION", default_value = "open", value_parser = ["open", "closed"])]
    pub registration: String,
    /// Where bundles are kept: file (in the data folder)
    #[arg(long, env = "UPDRAFT_STORAGE", default_value = "file", value_parser = ["file"])]
    pub storage: String,
}

/// How many connections there may be, and how slow.
#[derive(Args)]
#[command(next_help_heading = "Connections")]
pub(super) struct Connections {
    /// on: HTTP/2 is spoken with clients that begin with it, such as a proxy that does; off: HTTP/1.1 alone
    #[arg(long, env = "UPDRAFT_HTTP2", default_value = "off", value_parser = ["on", "off"])]
    http2: String,
    /// Connections at once; beyond it the longest idle one is closed for a new one, or the new one refused
    #[arg(long, env = "UPDRAFT_MAX_CONNECTIONS", value_name = "COUNT", default_value = "8192", value_parser = count)]
    max_connections: u32,
    /// Connections at once per client address; not counted for this machine, trusted proxies, and edges that signed something in the last 10
    /// minutes
    #[arg(long, env = "UPDRAFT_LIMIT_CONNECTIONS_ADDRESS", value_name = "COUNT", default_value = "256", value_parser = count)]
    limit_connections_address: u32,
    /// How long a client may take for a request's head
    #[arg(long, env = "UPDRAFT_LIMIT_REQUEST_HEAD", value_name = "DURATION", default_value = "10s", value_parser = pause)]
    limit_request_head: Duration,
    /// How long a connection may be without a request, or take nothing of an answer
    #[arg(long, env = "UPDRAFT_LIMIT_CONNECTION_IDLE", value_name = "DURATION", default_value = "60s", value_parser = pause)]
    limit_connection_idle: Duration,
    /// How long nothing of a request's body may come
    #[arg(long, env = "UPDRAFT_LIMIT_BODY_PAUSE", value_name = "DURATION", default_value = "30s", value_parser = pause)]
    limit_body_pause: Duration,
}

impl From<Connections> for Bounds {
    fn from(given: Connections) -> Self {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        Self {
            most: count(given.max_connections),
            per_address: count(given.limit_connections_address),
            head: given.limit_request_head,
            idle: given.limit_connection_idle,
            pause: given.limit_body_pause,
            has_http2: given.http2 == "on",
        }
    }
}

/// Where data is kept.
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub(super) struct Database {
    /// The data folder: database, bundles, generated secrets
    #[arg(long, env = "UPDRAFT_DATA_DIR", value_name = "FOLDER", default_value = "./data")]
    pub(super) data_dir: PathBuf,
    /// sqlite:… or postgres://…, with TLS to another machine unless it says sslmode=…; a SQLite file in the data folder when not set
    #[arg(long, env = "UPDRAFT_DATABASE_URL", hide = true, value_parser = database_address)]
    pub(super) database_url: Option<DatabaseUrl>,
}

/// What is logged.
#[derive(Args)]
#[command(next_help_heading = "Log")]
pub(super) struct Log {
    /// What is logged: a level, or a filter such as control=debug
    #[arg(long, env = "UPDRAFT_LOG", value_name = "FILTER", default_value = "info")]
    pub(super) log: String,
    /// text or json
    #[arg(long, env = "UPDRAFT_LOG_FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub(super) log_format: String,
}
