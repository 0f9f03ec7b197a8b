//! Logging: to standard error, as text or JSON. Messages carry no tokens, addresses of people or bodies.

use tracing::Metadata;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterFn, ParseError, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{ConfigError, LogConfig};

/// Libraries that log nothing, not even their errors, whatever the setting says: their records hold parts of what strangers sent.
const SILENT: [&str; 2] = ["webauthn_rs", "crypto_glue"];

/// What is heard of the database server's notices unless the setting names them: each start would otherwise say that the table of migrations exists.
const NOTICES: &str = "sqlx::postgres::notice=warn";

/// Starts logging.
pub fn start(config: &LogConfig) -> Result<(), ConfigError> {
    let filter = filter(&config.filter).map_err(|error| ConfigError::setting("LOG", error.to_string()))?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr);
    let started =
        if config.json { builder.json().finish().with(silence()).try_init() } else { builder.finish().with(silence()).try_init() };
    started.map_err(|error| ConfigError::setting("LOG", error.to_string()))?;
    std::panic::set_hook(Box::new(panicked));
    Ok(())
}

/// A panic is one line of the log like every other. What was formatted may hold anything: only the place and a fixed text are told.
fn panicked(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or_default();
    tracing::error!(place, text, "the program panicked");
}

/// What is asked for, and of the database server's notices what is heard unless it names them.
pub fn filter(asked: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("{NOTICES},{asked}"))
}

/// Lets through whatever is not one of the silent libraries'.
pub fn silence() -> FilterFn {
    let is_heard: fn(&Metadata<'_>) -> bool = |metadata| !SILENT.iter().any(|library| metadata.target().starts_with(library));
    filter_fn(is_heard)
}
