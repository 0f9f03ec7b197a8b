//! Access keys by name: made on the dashboard or by the operator's command, used as bearer tokens. Sessions are stored and listed with them.
//!
//! How one is used is in [`crate::domain::access::bearer`], how sessions come to be in [`super::session`]. What is done with them is in [`crate::domain::keys::access_keys`].

pub mod repo;
