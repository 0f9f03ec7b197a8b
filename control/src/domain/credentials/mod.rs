//! What somebody shows to be let in: access keys, API keys, sessions, and the cookies that devices keep.
//!
//! Who may do what with one is in [`crate::domain::access`]. Start reading at [`token`].

pub mod access_keys;
pub mod api_keys;
pub mod device_cookies;
pub mod kind;
pub mod scope;
pub mod session;
pub mod settings;
pub mod token;

pub use kind::CredentialKind;
