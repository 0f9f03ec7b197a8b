//! How command lines are let in: through a browser on the same machine, with a redirect to the command line (RFC 8252, RFC 7636), or by a code that the
//! user copies into any browser (RFC 8628).
//!
//! A command line starts a request, somebody who is signed in on the dashboard approves or denies it, and the command line exchanges it for a
//! credential. Nothing else gives that credential out. A request belongs to nobody before somebody decides on it. Afterwards it is the deciding
//! account's alone, and it depends on the session that approved it until it is exchanged.
//!
//! A new password cancels what the account has approved. It also cancels what was waiting for anybody's decision, as far as this account is concerned:
//! it can no longer approve a request that is older than its password.
//!
//! `start`, `decision` and `exchange` hold the rules of the three steps, `machines` those of what is left of them, the credentials. Start reading at
//! [`request::State`].

pub mod decision;
pub mod exchange;
pub mod machines;
pub mod notice;
pub mod proof;
pub mod redirect;
pub mod repo;
pub mod request;
pub mod settings;
pub mod start;
pub mod user_code;
