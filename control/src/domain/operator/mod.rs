//! What the operator does by the commands of the program: about accounts that were taken over, and about deployment keys that somebody has squatted.
//!
//! Each is audited and told by mail. Start reading at [`accounts`].

pub mod accounts;
pub mod deployment_keys;

use crate::domain::email::Email;
use crate::domain::error::{AppError, AppResult};

/// An e-mail address as it was typed. Errors: 400.
pub fn email(text: &str) -> AppResult<Email> {
    text.parse().map_err(|fault| AppError::invalid("email", fault))
}
