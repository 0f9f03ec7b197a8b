//! Named access keys: created on the dashboard or by the operator, and used as bearer tokens. Sessions are stored and listed with them.
//!
//! Authentication with one is in [`crate::domain::access::bearer`], creation of sessions in [`super::session`], and the use cases in
//! [`crate::domain::keys::access_keys`].

pub mod repo;
