//! `/v1/auth`: authentication.

mod challenge;
mod challenge_verifier;
pub(crate) mod cli;
mod login;
mod login_limits;
mod mfa;
mod passkey;
mod register;
mod reset_password;
mod unauthenticated;
