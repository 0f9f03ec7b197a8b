//! Registrations: what waits for its e-mail address to be verified, and becomes an account then.
//!
//! Several may wait for one address: the token of a mail decides which it was, and the page behind the mail's link asks for a password, so that the
//! account never gets one that a stranger chose. No answer tells whether an address has an account, or when it gets one: a registration of one that has is
//! stored as a decoy, and what waits for an address becomes decoys when it gets its account.
//! Start reading at [`service::register`].

mod budget;
pub mod confirm;
pub mod repo;
pub mod service;
mod token;

pub use token::MailedToken;
pub(crate) use token::unknown_token;
