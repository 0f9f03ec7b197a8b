//! Apps: created, listed, read, renamed, transferred and deleted. With whom they are shared is `collaborators`' matter.
//!
//! A path names an app by its bare name, or as `ownerEmail:appName`; [`repo::resolve`] decides which one that is. A bare
//! name goes on meaning the app that it means, as long as that keeps the name and the account its access: whatever an account creates, is given or
//! comes to share is later than what it had, and a renamed app is later than all that its collaborators reached before.

pub mod http;
pub mod repo;
pub mod service;
