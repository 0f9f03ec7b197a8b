//! Password reset by a mailed link.
//!
//! No response reveals whether an address has an account. Start reading at [`service::reset`].

mod old_password;
pub mod repo;
pub mod service;

pub use old_password::end_old_password;
