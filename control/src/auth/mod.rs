//! Who is asking and what they may do: bearer credentials, sessions, grants, password hashes, access keys.
//!
//! No handler checks a right: it takes a value that only this area can make. Start reading at [`bearer`] and [`grant`].

pub mod bearer;
pub mod grant;
pub mod keys;
pub mod login;
pub mod members;
pub mod mfa;
pub mod password;
pub mod registration;
pub mod reset;
pub mod session;
pub mod strength;
pub mod token;

pub use bearer::{CredentialKind, DashboardSession, LoginSession, SignedIn};
pub use grant::{AppGrant, Permission, Role};
