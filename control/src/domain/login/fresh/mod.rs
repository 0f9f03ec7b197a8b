//! Lasting access needs a fresh proof: a dashboard session gives keys, roles and first factors only soon after its login or a
//! re-authentication, or with a step-up proof in the request itself. So a thief of a session gets nothing that outlives it.
//!
//! CLI credentials, named access keys and API keys are not asked; a session without an origin is, like one of the dashboard. That a login with a second
//! factor approves a CLI by its age alone is [`RecentLogin`]'s; whether a session is fresh is told by [`crate::domain::access::freshness`]. Start reading
//! at [`service`].

pub mod recent;
pub mod service;

pub use crate::domain::access::freshness::check;
pub use recent::RecentLogin;
pub use service::{Fresh, Reauthentication, admit, judge_password, prove, reauthenticate};
