//! API keys: made on the dashboard for programs, cut down to scopes, revoked but never deleted.
//!
//! How one is used as a bearer credential is in [`super::bearer`], what its scopes allow in [`super::grant`]. Start reading at [`service`].

pub mod http;
pub mod repo;
pub mod service;
