//! Logins whose password was right and that wait for a second factor: made by [`crate::domain::login`], used up by the first proof that is right, and
//! over after five wrong ones or five minutes.
//!
//! Which proofs there are is not here: each kind begins an [`Attempt`], judges what it was shown in the attempt's transaction, and lets it succeed or
//! fail. The rows are in [`crate::domain::second_factors::pending_logins`]. Start reading at [`service`].

pub mod service;

pub use service::{Attempt, create, find};
