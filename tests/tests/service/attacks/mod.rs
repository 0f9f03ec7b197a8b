//! Regression tests for known attacks, each as it was reported. One file per target.

mod enumeration;
mod files;
mod fresh_proof;
mod hijacking;
mod internal;
mod names;
mod network;
mod operator;
mod panics;
mod quotas;
mod registration_mails;
mod revoked_keys;
mod snapshots;
mod squatted_keys;
mod text;
mod traces;
