//! Rules for passwords.

mod common_passwords;
mod strength;
