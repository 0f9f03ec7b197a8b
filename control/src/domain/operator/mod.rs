//! Operator commands: for accounts that were taken over, and for squatted deployment keys.
//!
//! Each command writes an audit row and emails the owner. Start reading at [`accounts`].

pub mod access_keys;
pub mod accounts;
pub mod deployment_keys;

use crate::domain::email::Email;
use crate::domain::error::{Error, Result};

/// Parses an email address as typed. Errors: 400.
pub fn email(text: &str) -> Result<Email> {
    text.parse().map_err(|fault| Error::invalid("email", fault))
}
