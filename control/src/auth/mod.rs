//! Who is asking and what they may do: bearer credentials, grants, password hashes, access keys.
//!
//! No handler checks a right: it takes a value that only this area can make. Start reading at [`grant`].

pub mod bearer;
pub mod grant;
pub mod keys;
pub mod password;
pub mod token;

pub use bearer::SignedIn;
pub use grant::{AppGrant, Permission, Role};
