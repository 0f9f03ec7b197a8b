//! Granting lasting access needs recent authentication. A dashboard session can create keys, grant roles and add a first factor only soon after its
//! login or a re-authentication. Otherwise the request itself needs a step-up proof. So a stolen session cannot get anything that outlives it.
//!
//! CLI credentials, named access keys and API keys are exempt; a session without an origin is treated like a dashboard session. Not here: the rule
//! that a login with a second factor approves a CLI by its age alone ([`RecentLogin`]), and whether a session is fresh
//! ([`crate::domain::access::freshness`]). Start reading at [`service`].

pub mod recent;
pub mod service;

pub use crate::domain::access::freshness::check;
pub use recent::RecentLogin;
pub use service::{Reauthentication, prove, reauthenticate, require};
