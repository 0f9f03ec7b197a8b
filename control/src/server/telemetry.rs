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

fn filter(asked: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("{NOTICES},{asked}"))
}

/// Lets through whatever is not one of the silent libraries'.
fn silence() -> FilterFn {
    let is_heard: fn(&Metadata<'_>) -> bool = |metadata| !SILENT.iter().any(|library| metadata.target().starts_with(library));
    filter_fn(is_heard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};
    use tracing::subscriber::with_default;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_may_hold_parts_of_a_passkeys_response_is_not_logged() {
        for asked in ["trace", "info,webauthn_rs=trace,webauthn_rs_core::internals=trace"] {
            let log = Log::default();
            let writer = log.clone();
            let logger = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(asked)).with_writer(move || writer.clone()).finish();
            with_default(logger.with(silence()), || {
                tracing::error!(target: "webauthn_rs_core::internals", "a secret");
                tracing::error!(target: "webauthn_rs::interface", "a secret");
                tracing::error!(target: "crypto_glue::x509::chain", "a secret");
                tracing::info!("seen");
            });
            let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
            assert!(text.contains("seen") && !text.contains("a secret"), "{asked}: {text}");
        }
    }

    #[test]
    fn notices_of_the_database_server_are_heard_when_they_are_asked_for() {
        for (asked, is_heard) in [("info", false), ("trace", false), ("info,sqlx::postgres::notice=info", true)] {
            let log = Log::default();
            let writer = log.clone();
            let logger = tracing_subscriber::fmt().with_env_filter(filter(asked).unwrap()).with_writer(move || writer.clone()).finish();
            with_default(logger, || {
                tracing::info!(target: "sqlx::postgres::notice", "it exists");
                tracing::error!("seen");
            });
            let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
            assert_eq!((text.contains("it exists"), text.contains("seen")), (is_heard, true), "{asked}: {text}");
        }
    }
}
