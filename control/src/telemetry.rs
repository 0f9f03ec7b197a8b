//! Logging: to standard error, as text or JSON. Messages carry no tokens, addresses of people or bodies.

use tracing_subscriber::EnvFilter;

use crate::config::{ConfigError, LogConfig};

/// Starts logging.
pub fn start(config: &LogConfig) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&config.filter).map_err(|error| ConfigError::setting("LOG", error.to_string()))?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr);
    let started = if config.json { builder.json().try_init() } else { builder.try_init() };
    started.map_err(|error| ConfigError::setting("LOG", error.to_string()))
}
