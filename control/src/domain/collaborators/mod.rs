//! Collaborators of an app: their roles, and what they accept.
//!
//! The owner changes only by a transfer ([`crate::domain::apps::transfer`]) that is accepted ([`acceptance`]). Start reading at [`service`].

pub mod acceptance;
pub mod notice;
pub mod service;
