//! Authenticator apps (RFC 6238): a seed that is shown once, and a six-digit code every 30 seconds.
//!
//! An account has at most one; a new one replaces it only once it is confirmed. Seeds are encrypted in the database. The code of each time step is
//! accepted once, for any purpose. Start reading at [`service`].

pub mod repo;
pub mod seed;
pub mod service;
