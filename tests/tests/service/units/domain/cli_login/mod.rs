//! The login of command lines.

mod user_code;
