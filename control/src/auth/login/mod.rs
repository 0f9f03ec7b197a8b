//! Logging in with an e-mail address and a password, and the limits on guessing.
//!
//! What a right password leads to where the account has a second factor is [`super::mfa::pending`]. Start reading at [`service::log_in`].

mod guess;
pub mod http;
pub mod repo;
pub mod service;
