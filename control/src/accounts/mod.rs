//! Accounts: what their owners see and change of them, and the sessions that are open.
//!
//! How an account comes to be over HTTP, and how its owner signs in, is [`crate::auth`]'s; who may do what to an app is [`crate::apps`]'s. Start
//! reading at [`http`] and [`sessions`].

pub mod email;
pub mod http;
pub mod operator;
pub mod repo;
pub mod service;
pub mod sessions;
