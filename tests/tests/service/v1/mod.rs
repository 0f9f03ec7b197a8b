//! `/v1`, one file or folder for each resource; and what is the same on all of its paths. Every test has a server, a database and a clock of its own.

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
mod openapi_shape;
mod routes;
mod scopes;
mod statements_per_request;

use serde_json::Value;

/// A name as one path segment.
pub(crate) fn segment(name: &str) -> String {
    tests::encode_segment(name)
}

/// The member names of an object, in order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
