//! How a CLI is authorized. Either a browser on the same machine redirects to the CLI (RFC 8252, RFC 7636), or the user enters a code in any browser (RFC
//! 8628).
//!
//! The CLI starts a request, someone signed in to the dashboard approves or denies it, and the CLI exchanges it for a credential. There is no other way to
//! get such a credential. A request belongs to no account until someone decides on it. Then it belongs to the deciding account only, and depends on the
//! approving session until it is exchanged.
//!
//! A new password cancels all requests that the account has approved. For this account it also cancels pending requests: the account cannot approve a request
//! that is older than its password.
//!
//! `start`, `decision` and `exchange` are the three steps, `authorized_devices` manages the resulting credentials. Start reading at [`request::State`].

pub mod authorized_devices;
pub mod decision;
pub mod exchange;
pub mod notice;
pub mod proof;
pub mod redirect;
pub mod repo;
pub mod request;
pub mod settings;
pub mod start;
pub mod user_code;
