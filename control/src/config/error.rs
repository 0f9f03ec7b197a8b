//! Why the program does not start.

use std::path::PathBuf;

/// A setting that cannot be used, or a secret that is missing; the text names it and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A bad or missing value.
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
        /// What the operating system said.
        #[source]
        cause: std::io::Error,
    },
}

impl ConfigError {
    pub(crate) fn setting(name: &str, reason: impl Into<String>) -> Self {
        Self::Setting { name: name.to_owned(), reason: reason.into() }
    }
}
