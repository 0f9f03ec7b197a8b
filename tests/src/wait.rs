//! Waiting for events elsewhere: by polling until they happen, never by sleeping.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// The timeout for anything to happen: an idle machine needs a hundredth of it. It is shorter than nextest's timeout (`.config/nextest.toml`), so
/// that the test can still tell what it was waiting for: 300 seconds for its groups, 120 for all others.
pub fn patience() -> Duration {
    match std::env::var("NEXTEST_TEST_GROUP").as_deref() {
        Ok("@global") => Duration::from_secs(90),
        _ => Duration::from_mins(2),
    }
}

/// Waits until `happened` returns a value; `what` is for the error message.
pub async fn until<T>(what: &str, mut happened: impl AsyncFnMut() -> Option<T>) -> T {
    eventually(what, async || happened().await.ok_or_else(|| "not yet".to_owned())).await
}

/// Like [`until`]; the error of the last attempt becomes part of the error message.
pub async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut missing = "nothing was asked".to_owned();
    let asking = async {
        let mut ticks = interval(Duration::from_millis(20));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match attempt().await {
                Ok(value) => return value,
                Err(reason) => missing = reason,
            }
        }
    };
    let patience = patience();
    timeout(patience, asking).await.unwrap_or_else(|_| panic!("did not happen within {patience:?}: {what}: {missing}"))
}
