//! What runs beside the requests for as long as the server does.
//!
//! What a job decides by is in [`crate::domain`]. Start reading at [`runner`].

pub mod cleanup;
pub mod history;
pub mod mail;
pub mod reconcile;
pub mod replay;
pub mod runner;
pub mod snapshots;
pub mod traces;
