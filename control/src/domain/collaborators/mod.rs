//! Who else works on an app: collaborators and their roles; and what they accept.
//!
//! The owner is not changed here, but by a transfer ([`crate::domain::apps::transfer`]) that is accepted ([`acceptance`]). Start reading at [`service`].

pub mod acceptance;
pub mod notice;
pub mod service;
