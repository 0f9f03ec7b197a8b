//! The two ways that a mail goes out: a mail server, or a folder.
//!
//! What mails say is in [`crate::domain::mail`], when they are sent in [`crate::jobs::mail`].

pub mod folder;
pub mod smtp;
