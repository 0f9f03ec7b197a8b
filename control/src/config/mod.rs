//! Settings: environment variables with the prefix `UPDRAFT_`, read once at the start.
//!
//! `settings` is the list that `--help` prints, `values` parses sizes and networks, `outside` has the mail server and the challenge, `pages` the
//! dashboard's address; `strangers` and `command_line` read limits, `secrets` creates and keeps the three secrets, `error` says what is wrong. Start
//! reading at [`Config::read`].

pub mod command_line;
mod error;
pub mod outside;
pub mod pages;
pub mod secrets;
pub mod settings;
pub mod strangers;
pub mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use shared::limit::Rate;
use shared::time::parse_duration;

pub use error::ConfigError;

use self::settings::{Given, Settings as Environment};
use self::values::{parse_network, parse_size};
use crate::domain::accounts::settings::AccountLimits;
use crate::domain::cli_login::settings::CliLimits;
use crate::domain::credentials::settings::SessionLimits;
use crate::domain::limits::settings::Quotas;
use crate::domain::limits::settings::StrangerLimits;
use crate::domain::releases::archive::ArchiveLimits;
use crate::domain::settings::{Limits, Settings};
use crate::http::HttpSettings;
use crate::http::layer::connections::Bounds;
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
    pub fn read(environment: &dyn Given) -> Result<Self, ConfigError> {
        let settings = Environment(environment);
        let json = match settings.text("LOG_FORMAT").as_str() {
            "text" => false,
            "json" => true,
            _ => return Err(ConfigError::setting("LOG_FORMAT", "must be text or json")),
        };
        Ok(Self { filter: settings.text("LOG"), json })
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

impl DatabaseConfig {
    /// Reads the settings and makes the data folder.
    pub fn read(environment: &dyn Given) -> Result<Self, ConfigError> {
        let settings = Environment(environment);
        let data_dir = PathBuf::from(settings.text("DATA_DIR"));
        let mut folder = std::fs::DirBuilder::new();
        // The database holds password hashes and people's addresses: nobody else on this machine is to read it.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(&data_dir).map_err(|cause| ConfigError::DataDir { path: data_dir.clone(), cause })?;
        // As an address, a path says `?` and `%` by their codes.
        let file = data_dir.join("updraft.db").display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
        let embedded_url = || DatabaseUrl(format!("sqlite://{file}"));
        let database_url = settings.optional("DATABASE_URL").map_or_else(embedded_url, DatabaseUrl);
        if !["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| database_url.0.starts_with(scheme)) {
            return Err(ConfigError::setting("DATABASE_URL", "must begin with sqlite: or postgres://"));
        }
        let addresses = ["BASE_URL", "DASHBOARD_URL"].into_iter().filter_map(|name| settings.optional(name)).collect();
        Ok(Self { limits: limits(&settings)?, data_dir, database_url, addresses })
    }
}

impl Config {
    /// Reads every setting and, where the embedded default allows it, makes the secrets in the data folder.
    pub fn read(environment: &dyn Given) -> Result<Self, ConfigError> {
        let settings = Environment(environment);
        let base_url = settings.address("BASE_URL")?.unwrap_or_else(|| "http://localhost:8080".to_owned());
        // Cookies, signed addresses and every link begin at the root.
        if reqwest::Url::parse(&base_url).is_ok_and(|url| url.path() != "/") {
            return Err(ConfigError::setting("BASE_URL", "must have no path: serve Updraft at the root of a host of its own"));
        }
        let upload_url = settings.address("UPLOAD_URL")?.unwrap_or_else(|| base_url.clone());
        let dashboard_url = pages::address(&settings, &base_url)?;
        let listen = settings.text("LISTEN");
        let listen = listen.parse().map_err(|_| ConfigError::setting("LISTEN", "must be an address and a port, such as 127.0.0.1:8080"))?;
        let bindings_listen = bindings_listen(&settings)?;
        let DatabaseConfig { data_dir, database_url, limits, .. } = DatabaseConfig::read(environment)?;
        if settings.text("STORAGE") != "file" {
            return Err(ConfigError::setting("STORAGE", "only file is supported by this version"));
        }
        let is_registration_open = match settings.text("REGISTRATION").as_str() {
            "open" => true,
            "closed" => false,
            _ => return Err(ConfigError::setting("REGISTRATION", "must be open or closed")),
        };
        let kv = kv(&settings)?;
        let mut trusted_proxies = Vec::new();
        for part in settings.text("TRUSTED_PROXIES").split(',').map(str::trim).filter(|part| !part.is_empty()) {
            trusted_proxies.push(parse_network(part).ok_or_else(|| {
                ConfigError::setting("TRUSTED_PROXIES", format!("{part} is neither an address nor a network such as 10.0.0.0/8"))
            })?);
        }
        // Another replica, or the edge, must hold the same secrets: then a generated one would be wrong without anyone noticing.
        let may_generate = database_url.0.starts_with("sqlite:") && kv.is_none() && bindings_listen.is_none();
        let secrets = secrets::read(&settings, &data_dir, may_generate)?;
        let (mail, turnstile) = (outside::mail(&settings, &base_url)?, outside::turnstile(&settings)?);
        Ok(Self {
            settings: Settings {
                base_url,
                dashboard_url,
                upload_url,
                download_secret: secrets.download,
                encryption_keys: secrets.encryption,
                is_registration_open,
                has_edge: kv.is_some(),
                limits,
            },
            http: HttpSettings { trusted_proxies, edge_secret: secrets.edge, connections: connections(settings)?, turnstile },
            listen,
            bindings_listen,
            data_dir,
            database_url,
            kv,
            mail,
        })
    }
}

/// Whoever reaches that listener may post reports as they like and read every snapshot, so nobody else's machine must.
fn bindings_listen(settings: &Environment<'_>) -> Result<Option<SocketAddr>, ConfigError> {
    let Some(text) = settings.optional("BINDINGS_LISTEN") else { return Ok(None) };
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.ip().to_canonical().is_loopback());
    let wrong = || ConfigError::setting("BINDINGS_LISTEN", "must be a loopback address and a port, such as 127.0.0.1:8081");
    address.map(Some).ok_or_else(wrong)
}

fn connections(settings: Environment<'_>) -> Result<Bounds, ConfigError> {
    let count = |name: &'static str| {
        let count = settings.text(name).parse::<u32>().ok().filter(|count| *count > 0);
        count.and_then(|count| usize::try_from(count).ok()).ok_or_else(|| ConfigError::setting(name, "must be a whole number above 0"))
    };
    let duration = |name: &'static str| {
        let millis = parse_duration(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()))?;
        let millis = u64::try_from(millis).ok().filter(|millis| *millis <= 86_400_000);
        millis.map(Duration::from_millis).ok_or_else(|| ConfigError::setting(name, "must be at most 1d"))
    };
    let has_http2 = match settings.text("HTTP2").as_str() {
        "on" => true,
        "off" => false,
        _ => return Err(ConfigError::setting("HTTP2", "must be on or off")),
    };
    Ok(Bounds {
        most: count("MAX_CONNECTIONS")?,
        per_address: count("LIMIT_CONNECTIONS_ADDRESS")?,
        head: duration("LIMIT_REQUEST_HEAD")?,
        idle: duration("LIMIT_CONNECTION_IDLE")?,
        pause: duration("LIMIT_BODY_PAUSE")?,
        has_http2,
    })
}

fn kv(settings: &Environment<'_>) -> Result<Option<KvConfig>, ConfigError> {
    let Some(api) = settings.secret_address("KV_API")? else { return Ok(None) };
    let needed = |name: &'static str| {
        settings
            .optional(name)
            .ok_or_else(|| ConfigError::setting(name, "is needed when UPDRAFT_KV_API is set; any text serves wrangler's local API"))
    };
    let (account, namespace, token) = (settings.optional("KV_ACCOUNT"), needed("KV_NAMESPACE")?, needed("KV_TOKEN")?);
    if namespace.is_empty() || !namespace.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        return Err(ConfigError::setting("KV_NAMESPACE", "must be a namespace id"));
    }
    // The base address may name the account itself or leave it to KV_ACCOUNT.
    let api = match account {
        Some(account) if api.ends_with("/accounts") => format!("{api}/{account}"),
        None if api.ends_with("/accounts") => {
            return Err(ConfigError::setting("KV_ACCOUNT", "is needed when UPDRAFT_KV_API ends with /accounts"));
        }
        _ => api,
    };
    Ok(Some(KvConfig { api, namespace, token }))
}

/// Workers KV takes values of 25 MiB.
fn snapshot_bytes(bytes: u64) -> Result<u64, ConfigError> {
    const MOST: u64 = 24 << 20;
    if bytes <= MOST { Ok(bytes) } else { Err(ConfigError::setting("LIMIT_SNAPSHOT_BYTES", "must be at most 24MiB")) }
}

fn limits(settings: &Environment<'_>) -> Result<Limits, ConfigError> {
    let size = |name: &'static str| parse_size(&settings.text(name)).map_err(|reason| ConfigError::setting(name, reason));
    let count = |name: &'static str| {
        settings
            .text(name)
            .parse::<u32>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| ConfigError::setting(name, "must be a whole number above 0"))
    };
    let duration = |name: &'static str| parse_duration(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()));
    let rate = |name: &'static str| Rate::parse(&settings.text(name)).map_err(|error| ConfigError::setting(name, error.to_string()));
    Ok(Limits {
        account: AccountLimits {
            api_keys: count("LIMIT_MAX_API_KEYS")?,
            retention_days: count("LIMIT_RETENTION_DAYS")?,
            upload_bytes: size("LIMIT_MAX_UPLOAD_BYTES")?,
        },
        quotas: Quotas {
            apps: count("LIMIT_APPS")?,
            deployments: count("LIMIT_DEPLOYMENTS")?,
            access_keys: count("LIMIT_ACCESS_KEYS")?,
            collaborators: count("LIMIT_COLLABORATORS_PER_APP")?,
            stored_bytes: size("LIMIT_STORED_BYTES")?,
        },
        sessions: SessionLimits {
            dashboard: duration("LIMIT_SESSION")?,
            idle: duration("LIMIT_SESSION_IDLE")?,
            cli: duration("LIMIT_CLI_CREDENTIAL")?,
            freshness: duration("LIMIT_FRESHNESS")?,
        },
        strangers: StrangerLimits::read(*settings)?,
        cli: CliLimits::read(*settings)?,
        archive: ArchiveLimits {
            entries: count("LIMIT_ZIP_ENTRIES")?,
            uncompressed_bytes: size("LIMIT_ZIP_TOTAL")?,
            ratio: u64::from(count("LIMIT_ZIP_RATIO")?),
        },
        binary_versions: count("LIMIT_BINARY_VERSIONS")?,
        reports: rate("LIMIT_REPORTS")?,
        address_reports: rate("LIMIT_REPORTS_ADDRESS")?,
        management: rate("LIMIT_MANAGEMENT_API")?,
        account_management: rate("LIMIT_ACCOUNT_MANAGEMENT_API")?,
        uploads: rate("LIMIT_UPLOADS")?,
        account_uploads: rate("LIMIT_ACCOUNT_UPLOADS")?,
        uploads_at_once: count("LIMIT_UPLOADS_AT_ONCE")?,
        collaborators: strangers::counted(*settings, "LIMIT_COLLABORATORS")?,
        snapshot_bytes: snapshot_bytes(size("LIMIT_SNAPSHOT_BYTES")?)?,
    })
}
