//! Cryptography: password hashes, and encrypted values in the database.
//!
//! Signatures for devices and the edge are in `shared`. Start reading at [`seal`].

pub mod keys;
pub mod password;
pub mod seal;
