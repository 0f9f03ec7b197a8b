//! Second factors over HTTP: passkeys with a soft authenticator, authenticator apps, recovery codes, pending logins, step-up.

mod cleanup;
mod concurrent_uses;
mod fido2;
mod limits;
mod logged;
mod notices;
mod passkeys;
mod recovery_codes;
mod revoked_during_request;
mod step_up;
mod totp;
mod turned_on_and_off;

use serde_json::Value;
use tests::{Answer, Forgery};

const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;

/// The member names of an object, in order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A list of texts.
fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Expects a refusal that requires a fresh proof.
#[track_caller]
pub(crate) fn needs_step_up(answer: &Answer) {
    answer.refused_with(403, Some("step_up_required"));
}

/// Expects a refusal by the limit on attempts, and returns its seconds.
#[track_caller]
pub(crate) fn limited(answer: &Answer) -> u64 {
    answer.refused_with(429, None);
    let body = answer.json();
    assert_eq!(members(&body), ["error", "requestId", "retryAfterSeconds"]);
    let seconds = body["retryAfterSeconds"].as_u64().unwrap();
    assert!(seconds >= 1);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
    seconds
}

/// Every forgery that both registration and assertion must detect.
pub(crate) fn forgeries() -> Vec<Forgery> {
    vec![
        Forgery::Origin("https://evil.example.com"),
        Forgery::Origin("http://updraft.example.com"),
        Forgery::Origin("https://updraft.example.com:8443"),
        Forgery::Origin("https://sub.updraft.example.com"),
        Forgery::Origin("https://example.com"),
        Forgery::Origin("https://updraft.example.com.evil.example"),
        Forgery::CrossOrigin,
        Forgery::TopOrigin("https://evil.example.com"),
        Forgery::TopOrigin(tests::second_factors::ORIGIN),
        Forgery::RpId("evil.example.com"),
        Forgery::RpId("example.com"),
        Forgery::RpId("sub.updraft.example.com"),
        Forgery::Challenge("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        Forgery::Challenge(String::new()),
        Forgery::OtherCeremony,
        Forgery::NotVerified,
        Forgery::NotPresent,
        Forgery::ImpossibleBackup,
        Forgery::Cut,
    ]
}
