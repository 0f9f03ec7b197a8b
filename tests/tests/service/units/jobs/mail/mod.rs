//! Emails.

mod content;
