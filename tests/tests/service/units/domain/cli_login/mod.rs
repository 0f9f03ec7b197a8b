//! The login of CLIs.

mod user_code;
