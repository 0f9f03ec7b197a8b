//! What the owner of an account sees and changes of it: name, password, and that it is there at all.
//!
//! The row is [`crate::domain::accounts`]'. Start reading at [`service`].

pub mod service;
