//! Login with a passkey: as the second factor of a pending login, or without a password. Without a password the passkey is both factors: possession,
//! and user verification.
//!
//! How a pending login is created and completed is in [`crate::domain::login::pending`]. Start reading at [`service`].

pub mod service;
