//! What is to be done after a commit: rows that a change writes in its own transaction, and that jobs work off.
//!
//! Mails have an outbox beside what they say ([`crate::domain::mail::outbox`]). Start reading at [`snapshots::enqueue`].

pub mod snapshots;
