//! Use cases on keys: create, update, list and revoke access keys and API keys; list and revoke sessions.
//!
//! The tables are in [`crate::domain::credentials`]; authentication with a key is in [`crate::domain::access::bearer`]. Start reading at [`access_keys`].

pub mod access_keys;
pub mod api_keys;
pub mod sessions;
