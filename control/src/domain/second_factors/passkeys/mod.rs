//! Passkeys (Web Authentication level 3): added, listed, renamed and removed by their owner; used to complete a login, to sign in without a password,
//! and for step-up.
//!
//! Not here: what an assertion allows, which is in [`crate::domain::login::pending`], [`super::step_up`] and [`crate::domain::login::passkeys`].
//! Start reading at [`ceremony`], which knows WebAuthn and nothing of the database; [`challenge`] keeps its state until the response arrives.

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
