//! How a release was created.

use serde::{Deserialize, Serialize};

use crate::stored_text;

/// How a release was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReleaseMethod {
    /// By uploading a file.
    Upload,
    /// By promoting a release of another deployment.
    Promote,
    /// By rolling back to an earlier release of the same deployment.
    Rollback,
}

stored_text!(ReleaseMethod, "must be Upload, Promote or Rollback", Upload = "Upload", Promote = "Promote", Rollback = "Rollback");
