//! Attacks that were carried out once, each as it was described, and what meets them now. One file for each thing that was attacked.

mod enumeration;
mod files;
mod fresh_proof;
mod hijacking;
mod internal;
mod keys;
mod names;
mod network;
mod operator;
mod process;
mod quotas;
mod registration_mails;
mod revoked_keys;
mod snapshots;
mod text;
mod traces;
