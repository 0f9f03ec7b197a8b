//! The three secrets: given by settings, or made once into the data folder (SQLite and the folder store without an edge only).

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use clap::Args;
use shared::signature::Secrets;

use super::error::ConfigError;
use crate::infra::clock::Dice;
use crate::infra::crypto::keys::EncryptionKeys;

/// The file in the data folder that keeps generated secrets.
const FILE: &str = "secrets.env";

/// How a user makes one of the secrets.
const MAKE_SECRET: &str = "must be given with PostgreSQL or an edge; make one with: openssl rand -hex 32";
const MAKE_KEY: &str = "must be given with PostgreSQL or an edge; make one with: echo \"k1:$(openssl rand -base64 32)\"";

/// The three secrets, as they are given. Parsed together with those that the data folder keeps.
#[derive(Args)]
pub(super) struct SecretSettings {
    /// Signs what edge and control say to each other; several, comma-separated: the first signs, all verify
    #[arg(long, env = "UPDRAFT_EDGE_SECRET", hide = true)]
    edge_secret: Option<String>,
    /// Signs bundle URLs; several, comma-separated: the first signs, all verify
    #[arg(long, env = "UPDRAFT_DOWNLOAD_SECRET", hide = true)]
    download_secret: Option<String>,
    /// Encrypts authenticator seeds and waiting mails at rest: a key id, a colon, 32 bytes in base64; several, comma-separated: the first
    /// encrypts, all decrypt
    #[arg(long, env = "UPDRAFT_ENCRYPTION_KEY", hide = true)]
    encryption_key: Option<String>,
}

/// The three secrets, parsed.
pub(super) struct All {
    pub(super) edge: Secrets,
    pub(super) download: Secrets,
    pub(super) encryption: EncryptionKeys,
}

/// Takes each secret from its setting, else from the data folder, else makes it there when that is allowed.
pub(super) fn read(given: SecretSettings, data_dir: &Path, may_generate: bool) -> Result<All, ConfigError> {
    let mut kept = if may_generate { Kept::load(data_dir)? } else { Kept::default() };
    let mut value = |name: &'static str, given: Option<String>, make: fn() -> Result<String, getrandom::Error>, refusal: &str| {
        if let Some(value) = given {
            return Ok(value);
        }
        if !may_generate {
            return Err(ConfigError::setting(name, refusal));
        }
        kept.value(name, make)
    };
    let edge = value("EDGE_SECRET", given.edge_secret, make_secret, MAKE_SECRET)?;
    let download = value("DOWNLOAD_SECRET", given.download_secret, make_secret, MAKE_SECRET)?;
    let encryption = value("ENCRYPTION_KEY", given.encryption_key, make_encryption_key, MAKE_KEY)?;
    kept.store(data_dir)?;
    Ok(All {
        edge: Secrets::parse(&edge).map_err(|error| ConfigError::setting("EDGE_SECRET", error.to_string()))?,
        download: Secrets::parse(&download).map_err(|error| ConfigError::setting("DOWNLOAD_SECRET", error.to_string()))?,
        encryption: EncryptionKeys::parse(&encryption).map_err(|reason| ConfigError::setting("ENCRYPTION_KEY", reason))?,
    })
}

fn make_secret() -> Result<String, getrandom::Error> {
    Ok(URL_SAFE_NO_PAD.encode(Dice::System.bytes::<32>()?))
}

fn make_encryption_key() -> Result<String, getrandom::Error> {
    Ok(format!("k1:{}", STANDARD.encode(Dice::System.bytes::<32>()?)))
}

/// What the data folder's file holds.
#[derive(Default)]
struct Kept {
    values: HashMap<String, String>,
    changed: bool,
}

impl Kept {
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

    fn value(&mut self, name: &'static str, make: fn() -> Result<String, getrandom::Error>) -> Result<String, ConfigError> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let value = make().map_err(|error| ConfigError::setting(name, format!("no secret could be made: {error}")))?;
        self.values.insert(name.to_owned(), value.clone());
        self.changed = true;
        Ok(value)
    }

    /// Written beside and renamed, so that a crash leaves either no file or a whole one.
    fn store(&self, data_dir: &Path) -> Result<(), ConfigError> {
        if !self.changed {
            return Ok(());
        }
        let (path, beside) = (data_dir.join(FILE), data_dir.join("secrets.env.new"));
        let mut lines: Vec<String> = self.values.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        lines.sort_unstable();
        let write = || -> std::io::Result<()> {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            file.write_all(lines.concat().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &path)?;
            // The name, too, must survive a power cut: other secrets at the next start would not fit the database.
            std::fs::File::open(data_dir)?.sync_all()
        };
        write().map_err(|cause| ConfigError::DataDir { path: path.clone(), cause })
    }
}
