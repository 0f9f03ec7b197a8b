//! What passwords are judged by.

mod common_passwords;
mod strength;
