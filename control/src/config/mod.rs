//! Settings: environment variables with the prefix `UPDRAFT_`, or flags, read once at startup.
//!
//! Each setting is a field in the struct of its area (`service`, `secrets`, `outside`, `limits`); its name, default and help are only there. `values`
//! parses, `settings` reads, `secrets` also generates and stores the three secrets, `error` has the error type. Start reading at [`Config::read`].

#![expect(clippy::struct_field_names, reason = "a field is named after its setting")]

mod error;
mod limits;
pub mod outside;
mod secrets;
pub mod service;
pub mod settings;
pub mod values;

use std::net::SocketAddr;
use std::path::PathBuf;

pub use error::ConfigError;
use shared::snapshot::SnapshotKeys;

use self::limits::LimitSettings;
use self::service::{Database, Log, LogFormat, Registration};
use self::settings::{RawSettings, optional, read};
use crate::domain::settings::{Limits, Settings};
use crate::http::HttpSettings;
use crate::infra::db::DatabaseUrl;
use crate::infra::kv::KvConfig;
use crate::infra::mail::MailConfig;
use crate::infra::storage::StorageConfig;

/// The configuration of the process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Settings of the domain.
    pub settings: Settings,
    /// Settings of the HTTP layer.
    pub http: HttpSettings,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// Where a self-hosted workerd on this machine reaches its KV namespace and Queue; `None` without one. A loopback address.
    pub bindings_listen: Option<SocketAddr>,
    /// The data folder.
    pub data_dir: PathBuf,
    /// `sqlite:…` or `postgres://…`.
    pub database_url: DatabaseUrl,
    /// Where bundles are stored.
    pub storage: StorageConfig,
    /// Where snapshots are pushed; `None` without an edge.
    pub kv: Option<KvConfig>,
    /// How emails are sent.
    pub mail: MailConfig,
}

/// The `LOG` settings, read first so that errors are logged as configured.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// A filter such as `info` or `control=debug`.
    pub filter: String,
    /// One JSON object per line instead of text.
    pub json: bool,
}

impl LogConfig {
    /// Reads `LOG` and `LOG_FORMAT`.
    pub fn read(given: &RawSettings) -> Result<Self, ConfigError> {
        let Log { log, log_format } = read(given)?;
        Ok(Self { filter: log, json: log_format == LogFormat::Json })
    }
}

/// The settings of commands that only use the database. No secret is read or generated for them.
#[derive(Clone, Debug)]
pub struct DatabaseConfig {
    /// The data folder; it exists.
    pub data_dir: PathBuf,
    /// `sqlite:…` or `postgres://…`.
    pub database_url: DatabaseUrl,
    /// Rate limits and account limits.
    pub limits: Limits,
    /// The service's configured addresses: their words make a password weak.
    pub addresses: Vec<String>,
}

/// Reads the limits alone.
pub fn limits(given: &RawSettings) -> Result<Limits, ConfigError> {
    read::<LimitSettings>(given).map(Limits::from)
}

impl DatabaseConfig {
    /// Reads the settings and creates the data folder.
    pub fn read(given: &RawSettings) -> Result<Self, ConfigError> {
        let limits = limits(given)?;
        let Database { data_dir, database_url } = read(given)?;
        let mut folder = std::fs::DirBuilder::new();
        // The database holds password hashes and email addresses: no other user of this machine may read it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&data_dir).map_err(|cause| ConfigError::DataDir { path: data_dir.clone(), cause })?;
        // In a URL, these characters of a path must be percent-encoded.
        let file = data_dir.join("updraft.db").display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
        let database_url = database_url.unwrap_or_else(|| DatabaseUrl(format!("sqlite://{file}")));
        let addresses = ["UPDRAFT_BASE_URL", "UPDRAFT_DASHBOARD_URL"].into_iter().filter_map(|name| optional(given, name));
        Ok(Self { limits, data_dir, database_url, addresses: addresses.map(str::to_owned).collect() })
    }
}

impl Config {
    /// Reads every setting and, in the embedded default setup, generates the secrets in the data folder.
    pub fn read(given: &RawSettings) -> Result<Self, ConfigError> {
        let settings::Settings { service, connections, secrets, bundles, kv, mail, challenge, .. } = read(given)?;
        let (kv, mail, turnstile) = (kv.config()?, mail.config(&service.base_url)?, challenge.config()?);
        let DatabaseConfig { data_dir, database_url, limits, .. } = DatabaseConfig::read(given)?;
        // Other replicas and the edge must have the same secrets. A generated one would differ from theirs, and nobody would notice.
        let may_generate = database_url.0.starts_with("sqlite:") && kv.is_none() && service.bindings_listen.is_none();
        let secrets = secrets::read(secrets, &data_dir, may_generate)?;
        Ok(Self {
            settings: Settings {
                dashboard_url: service.dashboard_url.unwrap_or_else(|| format!("{}/dashboard", service.base_url)),
                upload_url: service.upload_url.unwrap_or_else(|| service.base_url.clone()),
                base_url: service.base_url,
                snapshot_keys: SnapshotKeys::derive(&secrets.edge),
                download_secret: secrets.download,
                encryption_keys: secrets.encryption,
                is_registration_open: service.registration == Registration::Open,
                has_edge: kv.is_some(),
                makes_diffs: bundles.makes_diffs(),
                limits,
            },
            http: HttpSettings {
                trusted_proxies: service.trusted_proxies.unwrap_or_default(),
                edge_secret: secrets.edge,
                verifies_bundles: bundles.verifies(),
                connections: connections.into(),
                turnstile,
            },
            listen: service.listen,
            bindings_listen: service.bindings_listen,
            data_dir,
            database_url,
            storage: bundles.config()?,
            kv,
            mail,
        })
    }
}
