//! Credentials: access keys, API keys, sessions, and device cookies.
//!
//! What a credential allows is in [`crate::domain::access`]. Start reading at [`token`].

pub mod access_keys;
pub mod api_keys;
pub mod device_cookies;
pub mod kind;
pub mod scope;
pub mod session;
pub mod settings;
pub mod token;

pub use kind::CredentialKind;
