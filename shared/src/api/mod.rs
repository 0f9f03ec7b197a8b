//! The request and response bodies of /v1, for the control plane and its clients: one file per resource.
//!
//! A request body has a [`Field`] per member, so that an error names every invalid member at once. Deliberately not here: what a value must be (the
//! domain's types define it), and what an operation does with it. Start reading at [`Field`].

pub mod access_keys;
pub mod accounts;
pub mod api_keys;
pub mod apps;
pub mod audit;
mod body;
pub mod cli_login;
pub mod collaborators;
pub mod deployments;
pub mod diffs;
pub mod explain;
mod field;
pub mod health;
pub mod history;
pub mod imported;
pub mod imports;
pub mod login;
pub mod metrics;
pub mod password_reset;
pub mod problem;
pub mod recent;
pub mod registration;
pub mod releases;
pub mod second_factors;
pub mod sessions;

pub use field::{Field, FromJson};
