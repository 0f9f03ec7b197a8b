//! Authenticator apps (RFC 6238): a seed that is shown once, and six digits of it every 30 seconds.
//!
//! An account has one at most; another one that is set up takes its place once it is confirmed, and not before. Seeds are sealed in the database. Each
//! step's code is taken once, whatever for. Start reading at [`service`].

pub mod repo;
pub mod seed;
pub mod service;
