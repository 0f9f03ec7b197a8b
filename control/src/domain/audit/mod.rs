//! The audit trail: who did what from where, one row for each change, in the change's own transaction.
//!
//! Each row's hash covers the row before it, so that none can be edited, removed or put in between without the chain breaking there; what remains
//! possible to somebody who can write to the database is to cut rows off its end or to make the chain anew, which an earlier end, kept elsewhere, shows
//! ([`Kept`]). Rows are never deleted, also when what they speak of is. No row has a secret, a token, or an e-mail address. Checks and reports of clients
//! are not changes of this kind. Start reading at [`note`] and [`Action`].

mod actor;
pub mod client_address;
pub mod event;
pub mod repo;
pub mod service;

pub use actor::Actor;
pub use client_address::ClientAddress;
pub use event::{Action, Event};
pub use service::{Kept, note, verify};
