//! How a release came to be.

use std::str::FromStr;

use shared::Invalid;

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

impl ReleaseMethod {
    /// The name in queries and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upload => "Upload",
            Self::Promote => "Promote",
            Self::Rollback => "Rollback",
        }
    }
}

impl FromStr for ReleaseMethod {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "Upload" => Ok(Self::Upload),
            "Promote" => Ok(Self::Promote),
            "Rollback" => Ok(Self::Rollback),
            _ => Err(Invalid::from("must be Upload, Promote or Rollback")),
        }
    }
}

/// As it is stored.
impl TryFrom<String> for ReleaseMethod {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}
