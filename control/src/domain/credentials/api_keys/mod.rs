//! API keys: created on the dashboard for programs, limited to scopes, revoked but never deleted.
//!
//! Authentication with one is in [`crate::domain::access::bearer`], what its scopes allow in [`crate::domain::access::grant`], and the use cases in
//! [`crate::domain::keys::api_keys`].

pub mod repo;
