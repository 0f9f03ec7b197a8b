//! How a release came to be.

use crate::stored_text;

/// How a release came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseMethod {
    /// From bytes.
    Upload,
    /// From a release of another deployment.
    Promote,
    /// From an earlier release of the same deployment.
    Rollback,
}

stored_text!(ReleaseMethod, "must be Upload, Promote or Rollback", Upload = "Upload", Promote = "Promote", Rollback = "Rollback");
