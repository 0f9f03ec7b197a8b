//! What handlers are given: bodies, paths, callers with their rights, and calls of the edge, each refused in the envelope when it is wrong.
//!
//! Who is asking, and what they may do, is decided by [`crate::domain::access`]. Start reading at [`callers`] and [`json`].

pub mod callers;
pub mod internal_call;
pub mod internal_slots;
pub mod json;
pub mod meter;
pub mod path;

pub use internal_call::{InternalCall, internal};
pub use internal_slots::InternalSlots;
pub use json::{Json, check_type, read_body};
pub use path::{
    AuthorizationPath, CredentialPath, DeploymentPath, EmailPath, KeyPath, LabelPath, PasskeyPath, Path, SourcePath, encode_segment,
};
