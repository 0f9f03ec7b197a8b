//! Pending logins: the password was correct and a second factor is required. [`crate::domain::login`] creates them. They end with the first correct
//! proof, after five wrong ones, or after five minutes.
//!
//! The kinds of proof are not here: each begins an [`Attempt`], verifies the proof in the attempt's transaction, and calls `succeed` or `fail`. The
//! rows are in [`crate::domain::second_factors::pending_logins`]. Start reading at [`service`].

pub mod service;

pub use service::{Attempt, create, find};
