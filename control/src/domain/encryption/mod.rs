//! Which encryption keys the database needs, and how one takes the place of another.
//!
//! How a value is sealed is in [`crate::infra::crypto::seal`]. Start reading at [`sealed`].

pub mod check;
pub mod rotation;
pub mod sealed;
