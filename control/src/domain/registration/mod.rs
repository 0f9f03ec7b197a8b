//! Registrations: accounts that wait for their email address to be verified.
//!
//! Several may be pending for one address. The token in the email decides which one. The page behind the email's link asks for the password, so the
//! account never gets one that someone else chose. No response reveals whether or when an address gets an account: a registration for an address with
//! an account is stored as a decoy, and pending registrations become decoys when the address gets its account. Start reading at
//! [`service::register`].

mod budget;
pub mod confirm;
pub mod repo;
pub mod service;
mod token;

pub use token::MailedToken;
pub(crate) use token::unknown_token;
