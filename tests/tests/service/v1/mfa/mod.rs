//! Second factors over HTTP: passkeys with a soft authenticator, authenticator apps, recovery codes, pending logins, step-up.

mod cleanup;
mod concurrent_uses;
mod ended_meanwhile;
mod fido2;
mod limits;
mod logged;
mod notices;
mod passkeys;
mod recovery_codes;
mod step_up;
mod totp;
mod turned_on_and_off;

use serde_json::Value;
use tests::{Answer, Lie};

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
pub(crate) fn lies() -> Vec<Lie> {
    vec![
        Lie::Origin("https://evil.example.com"),
        Lie::Origin("http://updraft.example.com"),
        Lie::Origin("https://updraft.example.com:8443"),
        Lie::Origin("https://sub.updraft.example.com"),
        Lie::Origin("https://example.com"),
        Lie::Origin("https://updraft.example.com.evil.example"),
        Lie::CrossOrigin,
        Lie::TopOrigin("https://evil.example.com"),
        Lie::TopOrigin(tests::second_factors::ORIGIN),
        Lie::RpId("evil.example.com"),
        Lie::RpId("example.com"),
        Lie::RpId("sub.updraft.example.com"),
        Lie::Challenge("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned()),
        Lie::Challenge(String::new()),
        Lie::OtherCeremony,
        Lie::NotVerified,
        Lie::NotPresent,
        Lie::ImpossibleBackup,
        Lie::Cut,
    ]
}
