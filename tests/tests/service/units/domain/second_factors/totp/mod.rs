//! Authenticator apps.

mod seed;
