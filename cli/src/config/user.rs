//! The user's configuration: the servers they use, and this machine's ID.

use std::collections::BTreeMap;
use std::path::PathBuf;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use super::files;
use super::server::ServerUrl;
use crate::error::{Error, Result};

/// `config.toml` in the CLI's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct UserConfig {
    /// The name of the server that is used unless another is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_server: Option<String>,
    /// A random ID of this machine, sent when it signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Servers by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, KnownServer>,
}

/// A server that the user signed in to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct KnownServer {
    /// Its URL.
    pub url: ServerUrl,
    /// The account that is signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Whether the credential was given with `--token`. Signing out does not revoke such a key: it may be in use elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_given_token: bool,
}

/// The CLI's folder: `$XDG_CONFIG_HOME/updraft`, or the platform's place. Errors: failed (1) without a home folder.
pub(crate) fn folder() -> Result<PathBuf> {
    let base = etcetera::choose_base_strategy()
        .map_err(|_| Error::failed("this user has no home folder", "Set XDG_CONFIG_HOME, or set UPDRAFT_URL and UPDRAFT_TOKEN."))?;
    Ok(base.config_dir().join("updraft"))
}

impl UserConfig {
    /// Reads it; empty if there is none.
    pub(crate) fn read() -> Result<Self> {
        // Without a home folder there is no configuration; a command that must write one says so.
        let Ok(folder) = folder() else { return Ok(Self::default()) };
        Ok(files::read(&folder.join("config.toml"))?.unwrap_or_default())
    }

    /// Writes it.
    pub(crate) fn write(&self) -> Result<()> {
        files::write(&folder()?.join("config.toml"), self)
    }

    /// Changes it: reads it again first, since another process may have written it.
    pub(crate) fn change<T>(edit: impl FnOnce(&mut Self) -> T) -> Result<T> {
        let _lock = files::lock(&folder()?)?;
        let mut config = Self::read()?;
        let result = edit(&mut config);
        config.write()?;
        Ok(result)
    }

    /// The known server with this URL.
    pub(crate) fn by_url(&self, url: &ServerUrl) -> Option<(&str, &KnownServer)> {
        self.servers.iter().find(|(_, server)| server.url == *url).map(|(name, server)| (name.as_str(), server))
    }
}
