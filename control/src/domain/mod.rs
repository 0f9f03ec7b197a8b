//! The business rules: who may do what, what an upload must look like, which update a device gets, how reports become counts.
//!
//! HTTP is in [`crate::http`], background jobs in [`crate::jobs`], databases and storage in [`crate::infra`]. Start reading at [`context`].

pub mod access;
pub mod accounts;
pub mod apps;
pub mod audit;
pub mod change;
pub mod cli_login;
pub mod collaborators;
pub mod conflict;
pub mod context;
pub mod counting;
pub mod credentials;
pub mod deployments;
pub mod diffs;
pub mod edge_counters;
pub mod email;
pub mod encryption;
pub mod error;
pub mod idempotency;
pub mod imports;
pub mod keys;
pub mod limits;
pub mod login;
pub mod mail;
pub mod operator;
pub mod outbox;
pub mod password_reset;
pub mod profile;
mod refusal;
pub mod registration;
pub mod releases;
pub mod second_factors;
pub mod settings;
pub mod snapshot;
pub mod traces;
pub mod warnings;
