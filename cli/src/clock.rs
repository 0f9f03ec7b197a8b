//! The machine's clock and randomness, in one place.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shared::time::UnixMillis;

use crate::error::Error;

/// The current time.
#[expect(clippy::disallowed_methods, reason = "the CLI's only clock")]
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Waits.
pub(crate) async fn wait(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits for something, at most this long.
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}

/// Random bytes from the operating system.
#[expect(clippy::disallowed_methods, reason = "the CLI's only source of randomness")]
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::failed(format!("cannot read random bytes: {error}"), "Check that this system has a source of randomness.")
    })?;
    Ok(bytes)
}
