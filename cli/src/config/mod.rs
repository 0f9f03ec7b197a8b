//! What the CLI remembers and is told: the user's configuration, credentials, and the project file.
//!
//! Precedence, highest first: flags, environment variables, `updraft.toml`, the user's configuration.

pub(crate) mod credentials;
pub(crate) mod files;
pub(crate) mod project;
pub(crate) mod server;
pub(crate) mod user;
