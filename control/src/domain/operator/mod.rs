//! What the operator does by the commands of the program: about accounts that were taken over, and about deployment keys that somebody has squatted.
//!
//! Each is audited and told by mail. Start reading at [`accounts`].

pub mod accounts;
pub mod deployment_keys;

use crate::domain::email::Email;
use crate::domain::error::{Error, Result};

/// An e-mail address as it was typed. Errors: 400.
pub fn email(text: &str) -> Result<Email> {
    text.parse().map_err(|fault| Error::invalid("email", fault))
}
