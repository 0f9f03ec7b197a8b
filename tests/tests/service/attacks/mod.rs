//! Attacks that were carried out once, each as it was described, and what meets them now. One file for each thing that was attacked.

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
