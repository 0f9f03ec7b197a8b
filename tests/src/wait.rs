//! Waiting for what happens elsewhere: by asking again and again until it has, never by letting time pass.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// How long anything may take before a test gives it up: an idle machine needs a hundredth of it.
///
/// Less than what nextest leaves the test (`.config/nextest.toml`), so that the test can still say what it has waited for: its groups have 300
/// seconds, and what is in none of them has 120.
pub fn patience() -> Duration {
    match std::env::var("NEXTEST_TEST_GROUP").as_deref() {
        Ok("@global") => Duration::from_secs(90),
        _ => Duration::from_mins(2),
    }
}

/// Waits until `happened` gives something; `what` names it in the message of the failure.
pub async fn until<T>(what: &str, mut happened: impl AsyncFnMut() -> Option<T>) -> T {
    eventually(what, async || happened().await.ok_or_else(|| "not yet".to_owned())).await
}

/// As [`until`]; the error of an attempt says what is missing, and the last one becomes part of the message of the failure.
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
