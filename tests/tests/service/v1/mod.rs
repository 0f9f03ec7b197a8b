//! `/v1`, one file or folder per resource, and behavior common to all its paths. Every test has its own server, database and clock.

mod access_keys;
mod account;
mod api_keys;
pub(crate) mod apps;
mod auth;
mod bearer;
mod cli;
mod credential_limits;
mod credentials;
mod docs;
mod health;
mod mfa;
mod missing_bodies;
mod openapi_shape;
mod routes;
mod scopes;
mod statements_per_request;

use serde_json::Value;

/// A name as a percent-encoded path segment.
pub(crate) fn segment(name: &str) -> String {
    tests::encode_segment(name)
}

/// The member names of an object, in order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
