//! Mails.

mod content;
