//! Hashes, keys, and encrypted values.

mod keys;
mod password;
mod seal;
