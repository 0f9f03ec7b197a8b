//! Logging at every configured level.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use control::testing::server::{filter, silence};
use tracing::subscriber::with_default;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;

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
fn targets_that_may_log_passkey_responses_are_silenced() {
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
fn notices_of_the_database_server_are_logged_on_request() {
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
