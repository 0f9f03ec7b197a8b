//! CLI login.

mod user_code;
