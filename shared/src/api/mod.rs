//! The bodies of /v1, as the control plane reads and writes them and as its clients do: one file per resource.
//!
//! A body that is read has a [`Field`] for each member, so that a refusal names everything that is wrong at once. Deliberately not here: what a value must
//! be (the domain's types say so), and what an operation does with it. Start reading at [`Field`].

pub mod accounts;
pub mod apps;
mod body;
pub mod collaborators;
mod field;
pub mod second_factors;

pub use field::{Field, FromJson};
