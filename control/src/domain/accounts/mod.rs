//! Accounts: the rows, the rules about names, addresses and passwords, and how one is created.
//!
//! How an account comes to be is in [`crate::domain::registration`], how its owner signs in in [`crate::domain::login`]; who may do what to an app is
//! [`crate::domain::access`]'s. Start reading at [`service`].

pub mod common_passwords;
pub mod password;
pub mod repo;
pub mod service;
pub mod settings;
pub mod strength;

pub use password::Password;
