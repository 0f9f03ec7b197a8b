//! What handlers are given: bodies, paths and members, each refused in the envelope when it is wrong.
//!
//! Who is asking, and what they may do, is [`crate::domain::access`]'s. Start reading at [`json`].

pub mod json;
pub mod member;
pub mod members;
pub mod path;

pub use json::{Json, check_type, read_body};
pub use member::{Faults, Member, Nullable};
pub(crate) use path::parameter;
pub use path::{
    AuthorizationPath, CredentialPath, DeploymentPath, EmailPath, KeyPath, LabelPath, PasskeyPath, Path, SourcePath, encode_segment,
};
