//! Extractors: bodies, paths, headers, callers with their permissions, and calls from the edge. Their refusals use the error envelope.
//!
//! [`crate::domain::access`] decides who the caller is and what they may do. Start reading at [`callers`] and [`json`].

pub mod bodies;
pub mod callers;
pub mod idempotency;
pub mod internal_call;
pub mod internal_slots;
pub mod json;
pub mod meter;
pub(crate) mod package_info;
pub mod path;
pub mod query;
pub(crate) mod upload;

pub use idempotency::MaybeIdempotent;
pub use internal_call::{InternalCall, internal};
pub use internal_slots::InternalSlots;
pub use json::{Json, check_type, read_body};
pub use path::{
    AuthorizationPath, CredentialPath, DeploymentPath, EmailPath, KeyPath, LabelPath, PasskeyPath, Path, SourcePath, encode_segment,
};
