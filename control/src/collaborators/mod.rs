//! Collaborators: who works on an app, and in which role. The owner is one of them; who that is changes by a transfer, which is `apps`' matter.
//!
//! What a role may do is not here but at [`crate::auth::grant`]. Every request looks the role up anew, so that a change holds at once for all
//! credentials of the account. Start reading at [`service`].

pub mod http;
pub mod repo;
pub mod service;
