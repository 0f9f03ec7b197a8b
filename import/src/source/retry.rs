//! Repeats requests while the server is busy or out of reach.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::Fault;

/// How often a request is sent.
const ATTEMPTS: u32 = 6;
/// The longest wait before another attempt.
const LONGEST: Duration = Duration::from_mins(2);

/// Sends a request until it succeeds, fails for good, or was sent [`ATTEMPTS`] times. Waits longer each time, and as long as the server asks for.
pub(crate) async fn repeat<T>(attempt: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    repeat_up_to(ATTEMPTS, attempt).await
}

/// [`repeat`] with another number of attempts.
pub(crate) async fn repeat_up_to<T>(attempts: u32, mut attempt: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    let mut wait = Duration::from_millis(250);
    for _ in 1..attempts {
        let fault = match attempt().await {
            Err(fault) if fault.is_passing() => fault,
            ended => return ended,
        };
        let asked = match &fault {
            Fault::Refused { wait, .. } => *wait,
            _ => None,
        };
        tokio::time::sleep(bounded(asked.unwrap_or(wait))).await;
        wait *= 3;
    }
    attempt().await
}

/// What is waited of a time that a server asks for.
pub(crate) fn bounded(wait: Duration) -> Duration {
    wait.min(LONGEST)
}

/// `Retry-After` in seconds. A date is not read: servers of the family send none.
pub(crate) fn wanted_wait(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
