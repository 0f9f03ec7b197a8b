//! The three secrets: set by settings, or generated once in the data folder (only with SQLite and without an edge).

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use clap::Args;
use shared::signature::Secrets;

use super::error::ConfigError;
use crate::infra::clock::Entropy;
use crate::infra::crypto::keys::EncryptionKeys;

/// The file in the data folder that stores generated secrets.
const FILE: &str = "secrets.env";

/// How a user generates one of the secrets.
const GENERATE_SECRET: &str = "must be set when you use PostgreSQL or an edge; generate one with: openssl rand -hex 32";
const GENERATE_KEY: &str = "must be set when you use PostgreSQL or an edge; generate one with: echo \"k1:$(openssl rand -base64 32)\"";

/// The three secrets, as set. Parsed together with those stored in the data folder.
#[derive(Args)]
pub(super) struct SecretSettings {
    /// Signs requests between the edge and the control plane. To rotate it, list several separated by commas: the first signs, all verify
    #[arg(long, env = "UPDRAFT_EDGE_SECRET", hide = true)]
    edge_secret: Option<String>,
    /// Signs bundle URLs. To rotate it, list several separated by commas: the first signs, all verify
    #[arg(long, env = "UPDRAFT_DOWNLOAD_SECRET", hide = true)]
    download_secret: Option<String>,
    /// Encrypts authenticator seeds and queued emails at rest. Format: key ID, colon, 32 bytes in base64. To rotate it, list several
    /// separated by commas: the first encrypts, all decrypt
    #[arg(long, env = "UPDRAFT_ENCRYPTION_KEY", hide = true)]
    encryption_key: Option<String>,
}

/// The three secrets, parsed.
pub(super) struct All {
    pub(super) edge: Secrets,
    pub(super) download: Secrets,
    pub(super) encryption: EncryptionKeys,
}

/// Reads each secret from its setting, or else from the data folder. Generates it there if it is missing and `may_generate` allows it.
pub(super) fn read(given: SecretSettings, data_dir: &Path, may_generate: bool) -> Result<All, ConfigError> {
    let mut stored = if may_generate { StoredSecrets::load(data_dir)? } else { StoredSecrets::default() };
    let mut value = |name: &'static str, given: Option<String>, generate: fn() -> Result<String, getrandom::Error>, refusal: &str| {
        if let Some(value) = given {
            return Ok(value);
        }
        if !may_generate {
            return Err(ConfigError::setting(name, refusal));
        }
        stored.value(name, generate)
    };
    let edge = value("EDGE_SECRET", given.edge_secret, generate_secret, GENERATE_SECRET)?;
    let download = value("DOWNLOAD_SECRET", given.download_secret, generate_secret, GENERATE_SECRET)?;
    let encryption = value("ENCRYPTION_KEY", given.encryption_key, generate_encryption_key, GENERATE_KEY)?;
    stored.store(data_dir)?;
    Ok(All {
        edge: Secrets::parse(&edge).map_err(|error| ConfigError::setting("EDGE_SECRET", error.to_string()))?,
        download: Secrets::parse(&download).map_err(|error| ConfigError::setting("DOWNLOAD_SECRET", error.to_string()))?,
        encryption: EncryptionKeys::parse(&encryption).map_err(|reason| ConfigError::setting("ENCRYPTION_KEY", reason))?,
    })
}

fn generate_secret() -> Result<String, getrandom::Error> {
    Ok(URL_SAFE_NO_PAD.encode(Entropy::System.bytes::<32>()?))
}

fn generate_encryption_key() -> Result<String, getrandom::Error> {
    Ok(format!("k1:{}", STANDARD.encode(Entropy::System.bytes::<32>()?)))
}

/// The secrets stored in the data folder.
#[derive(Default)]
struct StoredSecrets {
    values: HashMap<String, String>,
    changed: bool,
}

impl StoredSecrets {
    fn load(data_dir: &Path) -> Result<Self, ConfigError> {
        let path = data_dir.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let values =
                    text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                Ok(Self { values, changed: false })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(cause) => Err(ConfigError::DataDir { path, cause }),
        }
    }

    fn value(&mut self, name: &'static str, generate: fn() -> Result<String, getrandom::Error>) -> Result<String, ConfigError> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let value = generate().map_err(|error| ConfigError::setting(name, format!("no secret could be generated: {error}")))?;
        self.values.insert(name.to_owned(), value.clone());
        self.changed = true;
        Ok(value)
    }

    /// Writes a temporary file and renames it, so that a crash leaves either no file or a complete one.
    fn store(&self, data_dir: &Path) -> Result<(), ConfigError> {
        if !self.changed {
            return Ok(());
        }
        let (path, temporary) = (data_dir.join(FILE), data_dir.join("secrets.env.new"));
        let mut lines: Vec<String> = self.values.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        lines.sort_unstable();
        let write = || -> std::io::Result<()> {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&temporary)?;
            file.write_all(lines.concat().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            // The rename must survive a power failure too: secrets generated at the next start would not match the database.
            std::fs::File::open(data_dir)?.sync_all()
        };
        write().map_err(|cause| ConfigError::DataDir { path: path.clone(), cause })
    }
}
