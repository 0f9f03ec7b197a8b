//! Device cookies: what a browser keeps of an account that was signed in to with it, so that guesses of strangers do not keep the owner out.
//!
//! A cookie lets nobody in. It lifts the stop after ten failed logins and the challenge, never the limit of an address; and whoever signs in with one is
//! no news to the owner. It is read by the dashboard's sign-in pages alone. Start reading at [`service`].

pub mod repo;
pub mod service;

pub use service::Device;
