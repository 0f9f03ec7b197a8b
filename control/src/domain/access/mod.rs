//! Who is calling and what they may do: bearer credentials, guards, grants; and the tables behind these rights: apps, collaborators, names.
//!
//! No handler checks a right: it takes a value that only this area can create. Start reading at [`bearer`], [`guard`] and [`grant`].

pub mod anonymous;
pub mod apps;
pub mod awaited;
pub mod bearer;
pub mod collaborators;
pub mod freshness;
pub mod grant;
pub mod guard;
pub mod listing;
pub mod names;
pub mod operator;

pub use bearer::{CredentialId, SignedIn};
pub use grant::{AppGrant, Permission, Role};
pub use guard::{AppCreator, DashboardSession, DashboardSessionOnly, LoginSession, NotApiKey};
