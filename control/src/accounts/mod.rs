//! Accounts: who can own apps. Made by the operator's command for now; registration is not here yet.

pub mod repo;
pub mod service;
