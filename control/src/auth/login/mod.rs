//! Logging in with an e-mail address and a password, and the limits on guessing.
//!
//! What comes after a first factor is not here. Start reading at [`service::log_in`].

pub mod http;
pub mod repo;
pub mod service;
