//! Passkeys (Web Authentication level 3): added, listed, renamed and removed by their owner; asserted to complete a login, to sign in without a
//! password, and to show a factor again.
//!
//! What an assertion leads to is not here but in [`crate::domain::login::pending`], [`super::step_up`] and [`crate::domain::login::passkeys`]. Start
//! reading at [`ceremony`], which knows WebAuthn and nothing of the database; [`challenge`] keeps what it asks until the answer comes.

pub mod ceremony;
pub mod challenge;
pub mod message;
pub mod proof;
pub mod repo;
pub mod service;

pub use message::{Answer, Options};
pub use proof::verify_step_up;

use crate::domain::context::Context;

/// Whether passkeys can be used on this server.
pub fn is_configured(app: &Context) -> bool {
    app.relying_party.is_configured()
}
