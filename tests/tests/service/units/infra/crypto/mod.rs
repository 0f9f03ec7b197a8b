//! Hashes, keys, and what is sealed with them.

mod keys;
mod password;
mod seal;
