//! The bodies of /v1, as the control plane reads and writes them and as its clients do: one file per resource.
//!
//! A body that is read has a [`Field`] for each member, so that a refusal names everything that is wrong at once. Deliberately not here: what a value must
//! be (the domain's types say so), and what an operation does with it. Start reading at [`Field`].

pub mod access_keys;
pub mod accounts;
pub mod api_keys;
pub mod apps;
pub mod audit;
mod body;
pub mod cli_login;
pub mod collaborators;
pub mod deployments;
mod field;
pub mod health;
pub mod history;
pub mod login;
pub mod metrics;
pub mod password_reset;
pub mod problem;
pub mod registration;
pub mod releases;
pub mod second_factors;
pub mod sessions;

pub use field::{Field, FromJson};
