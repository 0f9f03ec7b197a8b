//! The audit trail: who did what, from where. Each change writes one row in its own transaction.
//!
//! Each row's hash covers the previous row, so editing, removing or inserting a row breaks the chain there. Someone who can write to the database can still
//! cut rows off the end or rebuild the chain; an earlier head, stored elsewhere, reveals that ([`KnownHead`]). Rows are never deleted, even when their objects
//! are. No row contains a secret, a token or an email address. Update checks and reports of devices are not audited. Start reading at [`note`] and
//! [`Action`].

mod actor;
pub mod client_address;
pub mod event;
pub mod repo;
pub mod service;

pub use actor::Actor;
pub use client_address::ClientAddress;
pub use event::{Action, Event};
pub use service::{KnownHead, note, verify};
