//! Mails.

mod letter;
