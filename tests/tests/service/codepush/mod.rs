//! The management API of CodePush: with its unmodified CLI, and over HTTP.

mod base_bundle;
mod command_line;
// The compiler is built for this architecture only.
#[cfg(target_arch = "x86_64")]
pub(crate) mod hermes;
mod requests;
mod sign_in;
