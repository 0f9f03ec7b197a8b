//! Logins.

mod fresh;
