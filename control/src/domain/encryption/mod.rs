//! Encryption keys: which ones the database needs, and key rotation.
//!
//! Encryption of a single value is in [`crate::infra::crypto::seal`]. Start reading at [`sealed`].

pub mod check;
pub mod rotation;
pub mod sealed;
