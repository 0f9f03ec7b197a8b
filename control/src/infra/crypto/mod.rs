//! Cryptography: password hashes, and values that lie sealed in the database.
//!
//! Signatures that devices and the edge see are in `shared`. Start reading at [`seal`].

pub mod keys;
pub mod password;
pub mod seal;
