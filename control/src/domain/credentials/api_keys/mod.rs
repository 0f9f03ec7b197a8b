//! API keys: made on the dashboard for programs, cut down to scopes, revoked but never deleted.
//!
//! How one is used as a bearer credential is in [`crate::domain::access::bearer`], what its scopes allow in [`crate::domain::access::grant`]. What is done with
//! them is in [`crate::domain::keys::api_keys`].

pub mod repo;
