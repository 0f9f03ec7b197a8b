//! Settings: environment variables with the prefix `UPDRAFT_`, or flags, read once at the start.
//!
//! A setting is a field of a struct of its area (`service`, `secrets`, `outside`, `limits`): name, default and help are there and nowhere else. `values`
//! parses, `settings` reads, `secrets` also creates and keeps the three secrets, `error` says what is wrong. Start reading at [`Config::read`].

#![expect(clippy::struct_field_names, reason = "a field is named as its setting")]

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

use self::limits::LimitSettings;
use self::service::{Database, Log};
use self::settings::{Given, optional, read};
use crate::domain::settings::{Limits, Settings};
use crate::http::HttpSettings;
use crate::infra::db::DatabaseUrl;
use crate::infra::kv::KvConfig;
use crate::infra::mail::MailConfig;

/// Everything the process was told.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the rules go by.
    pub settings: Settings,
    /// What HTTP goes by.
    pub http: HttpSettings,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// Where a bare workerd on this machine finds its KV namespace and its Queue; `None` without one. A loopback address.
    pub bindings_listen: Option<SocketAddr>,
    /// The data folder.
    pub data_dir: PathBuf,
    /// `sqlite:…` or `postgres://…`.
    pub database_url: DatabaseUrl,
    /// Where snapshots are pushed; `None` without an edge.
    pub kv: Option<KvConfig>,
    /// How mails go out.
    pub mail: MailConfig,
}

/// The `LOG` settings, read before everything else so that errors are logged as asked.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// A filter such as `info` or `control=debug`.
    pub filter: String,
    /// One JSON object per line instead of text.
    pub json: bool,
}

impl LogConfig {
    /// Reads `LOG` and `LOG_FORMAT`.
    pub fn read(given: &Given) -> Result<Self, ConfigError> {
        let Log { log, log_format } = read(given)?;
        Ok(Self { filter: log, json: log_format == "json" })
    }
}

/// What the commands that only touch the database need: no secret is read or made for them.
#[derive(Clone, Debug)]
pub struct DatabaseConfig {
    /// The data folder; it exists.
    pub data_dir: PathBuf,
    /// `sqlite:…` or `postgres://…`.
    pub database_url: DatabaseUrl,
    /// What limits what is asked of the service, and what an account may have.
    pub limits: Limits,
    /// The service's own addresses, as far as they are given: passwords are judged with their words.
    pub addresses: Vec<String>,
}

/// Reads the limits alone.
pub fn limits(given: &Given) -> Result<Limits, ConfigError> {
    read::<LimitSettings>(given).map(Limits::from)
}

impl DatabaseConfig {
    /// Reads the settings and makes the data folder.
    pub fn read(given: &Given) -> Result<Self, ConfigError> {
        let limits = limits(given)?;
        let Database { data_dir, database_url } = read(given)?;
        let mut folder = std::fs::DirBuilder::new();
        // The database holds password hashes and people's addresses: nobody else on this machine is to read it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&data_dir).map_err(|cause| ConfigError::DataDir { path: data_dir.clone(), cause })?;
        // As an address, a path says `?` and `%` by their codes.
        let file = data_dir.join("updraft.db").display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
        let database_url = database_url.unwrap_or_else(|| DatabaseUrl(format!("sqlite://{file}")));
        let addresses = ["UPDRAFT_BASE_URL", "UPDRAFT_DASHBOARD_URL"].into_iter().filter_map(|name| optional(given, name));
        Ok(Self { limits, data_dir, database_url, addresses: addresses.map(str::to_owned).collect() })
    }
}

impl Config {
    /// Reads every setting and, where the embedded default allows it, makes the secrets in the data folder.
    pub fn read(given: &Given) -> Result<Self, ConfigError> {
        let settings::Settings { service, connections, secrets, kv, mail, challenge, .. } = read(given)?;
        let (kv, mail, turnstile) = (kv.config()?, mail.config(&service.base_url)?, challenge.config()?);
        let DatabaseConfig { data_dir, database_url, limits, .. } = DatabaseConfig::read(given)?;
        // Another replica, or the edge, must hold the same secrets: then a generated one would be wrong without anyone noticing.
        let may_generate = database_url.0.starts_with("sqlite:") && kv.is_none() && service.bindings_listen.is_none();
        let secrets = secrets::read(secrets, &data_dir, may_generate)?;
        Ok(Self {
            settings: Settings {
                dashboard_url: service.dashboard_url.unwrap_or_else(|| format!("{}/dashboard", service.base_url)),
                upload_url: service.upload_url.unwrap_or_else(|| service.base_url.clone()),
                base_url: service.base_url,
                download_secret: secrets.download,
                encryption_keys: secrets.encryption,
                is_registration_open: service.registration == "open",
                has_edge: kv.is_some(),
                limits,
            },
            http: HttpSettings {
                trusted_proxies: service.trusted_proxies.unwrap_or_default(),
                edge_secret: secrets.edge,
                connections: connections.into(),
                turnstile,
            },
            listen: service.listen,
            bindings_listen: service.bindings_listen,
            data_dir,
            database_url,
            kv,
            mail,
        })
    }
}
