//! Registrations: what waits for its e-mail address to be verified, and becomes an account then.
//!
//! Several may wait for one address: whoever shows the token of a mail decides which it was. No answer tells whether an address has an account.
//! Start reading at [`service::register`].

pub mod http;
pub mod repo;
pub mod service;

/// How long a registration waits, in milliseconds; its mail's link works for less.
pub const PENDING_LIFETIME: i64 = 7 * 86_400_000;
