//! Errors that stop the start.

use std::path::PathBuf;

/// An invalid setting or a missing secret. The text names it and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An invalid or missing value.
    #[error("UPDRAFT_{name}: {reason}")]
    Setting {
        /// The name without the prefix.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The data folder cannot be used.
    #[error("UPDRAFT_DATA_DIR: {path} cannot be used", path = .path.display())]
    DataDir {
        /// The folder or the file in it.
        path: PathBuf,
        /// The error from the operating system.
        #[source]
        cause: std::io::Error,
    },
}

impl ConfigError {
    pub(crate) fn setting(name: &str, reason: impl Into<String>) -> Self {
        Self::Setting { name: name.to_owned(), reason: reason.into() }
    }
}
