//! The control plane over HTTP, one file per area. Every test has a server, a database and a clock of its own.

mod access_keys;
mod account;
mod acquisition;
mod address;
mod api_keys;
mod apps;
mod audit;
mod audit_details;
mod bearer;
mod bindings;
mod bundles;
mod challenged;
mod checks_at_once;
mod credential_limits;
mod credentials;
mod deployments;
mod documentation;
mod health;
mod history;
mod internal;
mod jobs;
mod login;
mod login_limits;
mod names;
mod quick_checks;
mod register;
mod reports;
mod reports_refused;
mod reset;
mod roles;
mod routes;
mod scopes;
mod sessions;
mod shape;
mod statements;
mod strangers;
mod stuck;
mod together;
mod upload;
mod upload_faults;
mod upload_rules;

use serde_json::Value;

/// A name as one path segment.
fn segment(name: &str) -> String {
    tests::encode_segment(name)
}

/// The member names of an object, in order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
