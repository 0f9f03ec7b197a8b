//! What is done with keys: access keys and API keys are created, changed, listed and taken away, and sessions are listed and ended.
//!
//! The tables are in [`crate::domain::credentials`]; how a key is used is in [`crate::domain::access::bearer`]. Start reading at [`access_keys`].

pub mod access_keys;
pub mod api_keys;
pub mod sessions;
