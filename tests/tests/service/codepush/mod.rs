//! The management API of CodePush: with its unmodified CLI, and over HTTP.

mod base_bundle;
mod command_line;
mod requests;
mod sign_in;
