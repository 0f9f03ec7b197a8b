//! Accounts: rows, rules for names, addresses and passwords, and creation.
//!
//! Registration is in [`crate::domain::registration`], sign-in in [`crate::domain::login`], and rights on apps are in [`crate::domain::access`]. Start
//! reading at [`service`].

pub mod common_passwords;
pub mod password;
pub mod repo;
pub mod service;
pub mod settings;
pub mod strength;

pub use password::Password;
