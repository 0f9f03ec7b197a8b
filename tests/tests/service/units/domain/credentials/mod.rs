//! Credentials.

mod scope;
