//! Login with email address and password, and the limits on guessing.
//!
//! Accounts with a second factor continue in [`pending`] and [`completion`]. Passkey login is in [`passkeys`], re-authentication in [`fresh`]. Start
//! reading at [`service::log_in`].

pub mod completion;
pub mod fresh;
mod guess;
pub mod passkeys;
pub mod pending;
pub mod repo;
pub mod service;

pub use fresh::RecentLogin;
pub use pending::Attempt;
