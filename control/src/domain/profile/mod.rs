//! The owner's view of an account: name, password, deletion.
//!
//! The row is in [`crate::domain::accounts`]. Start reading at [`service`].

pub mod service;
