//! Logging in with an e-mail address and a password, and the limits on guessing.
//!
//! What a right password leads to where the account has a second factor is in [`pending`] and [`completion`], signing in with a passkey in [`passkeys`],
//! showing the password again in [`fresh`]. Start reading at [`service::log_in`].

pub mod completion;
pub mod fresh;
mod guess;
pub mod passkeys;
pub mod pending;
pub mod repo;
pub mod service;

pub use fresh::{Fresh, RecentLogin};
pub use pending::Attempt;
