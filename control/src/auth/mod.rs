//! Who is asking and what they may do: bearer credentials, sessions, grants, password hashes, access keys.
//!
//! No handler checks a right: it takes a value that only this area can make. Start reading at [`bearer`], [`guard`] and [`grant`].

pub mod api_keys;
pub mod bearer;
pub mod cli;
pub mod common_passwords;
pub mod device;
pub mod fresh;
pub mod grant;
pub mod guard;
pub mod keys;
pub mod login;
pub mod members;
pub mod mfa;
pub mod password;
pub mod registration;
pub mod reset;
pub mod scope;
pub mod session;
pub mod strength;
pub mod token;

pub use bearer::{CredentialId, CredentialKind, SignedIn};
pub use fresh::Fresh;
pub use grant::{AppGrant, Permission, Role};
pub use guard::{
    AppCreator, DashboardSession, DashboardSessionAlone, LoginSession, NewCredentials, NotApiKey, RecentLogin, UploadAllowance,
};
