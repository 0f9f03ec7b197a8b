//! Recovery codes: ten, for a user who has lost every factor. Each completes one login, and proves nothing else.
//!
//! They are created with the first factor and deleted with the last one. Start reading at [`service`].

pub mod repo;
pub mod service;
