//! Apps: created, listed, read, renamed, transferred and deleted. With whom they are shared is `collaborators`' matter.
//!
//! A path names an app by its bare name, or as `ownerEmail:appName`; [`crate::domain::access::names::resolve`] decides which one that is. A bare name
//! that an account has used comes to mean somebody else's app only when the account accepts that one.

pub mod events;
pub mod service;
pub mod transfer;
