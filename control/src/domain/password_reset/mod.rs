//! Passwords that were forgotten: a mail whose link takes a new one.
//!
//! No answer tells whether an address has an account. Start reading at [`service::reset`].

pub mod repo;
pub mod service;
