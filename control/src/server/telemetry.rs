//! Logging to standard error, as text or JSON. Messages contain no tokens, email addresses or bodies.

use tracing::Metadata;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterFn, ParseError, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{ConfigError, LogConfig};

/// Libraries that are never logged, not even their errors, whatever the setting: their records contain parts of untrusted input, or whole requests with
/// their bodies. What fails is logged where it matters.
const SILENT: [&str; 3] = ["aws_", "webauthn_rs", "crypto_glue"];

/// The default filter for notices from the database server: otherwise each start would log that the migrations table exists.
const NOTICES: &str = "sqlx::postgres::notice=warn";

/// Starts logging.
pub fn start(config: &LogConfig) -> Result<(), ConfigError> {
    let filter = filter(&config.filter).map_err(|error| ConfigError::setting("LOG", error.to_string()))?;
    let colors = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colors).with_writer(std::io::stderr);
    let started =
        if config.json { builder.json().finish().with(silence()).try_init() } else { builder.finish().with(silence()).try_init() };
    started.map_err(|error| ConfigError::setting("LOG", error.to_string()))?;
    std::panic::set_hook(Box::new(panicked));
    Ok(())
}

/// Logs a panic as one line. A formatted message may contain secrets, so only the location and a constant message are logged.
fn panicked(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or_default();
    tracing::error!(place, text, "a thread panicked");
}

/// The configured filter, after the default for notices from the database server.
pub fn filter(configured: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("{NOTICES},{configured}"))
}

/// Drops records from the silent libraries.
pub fn silence() -> FilterFn {
    let is_logged: fn(&Metadata<'_>) -> bool = |metadata| !SILENT.iter().any(|library| metadata.target().starts_with(library));
    filter_fn(is_logged)
}
