//! Apps: create, list, read, rename, transfer and delete. Sharing is in `collaborators`.
//!
//! A path names an app by its bare name or as `ownerEmail:appName`; [`crate::domain::access::names::resolve`] finds the app. A bare name that an account has
//! used means someone else's app only after the account has accepted that app.

pub mod events;
pub mod overview;
pub mod service;
pub mod transfer;
