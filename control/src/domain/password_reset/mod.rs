//! Passwords that were forgotten: a mail whose link takes a new one.
//!
//! No answer tells whether an address has an account. Start reading at [`service::reset`].

mod old_password;
pub mod repo;
pub mod service;

pub use old_password::end_old_password;
