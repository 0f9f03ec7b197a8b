//! Signing in with a passkey: as the second factor of a pending login, or without a password, when it is both factors: something that its owner has,
//! which has verified that it is its owner.
//!
//! What makes a pending login, and what its end leads to, is [`crate::domain::login::pending`]'s. Start reading at [`service`].

pub mod service;
