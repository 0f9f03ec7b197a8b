//! Collaborators.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apps::{AppCollaborator, Role};
use super::body::body;
use super::field::FromJson;
use super::second_factors::StepUpProof;
use crate::Invalid;
use crate::time::UnixMillis;

/// A role that can be assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AssignableRole {
    /// Also manages the app, its deployments and its collaborators.
    Admin,
    /// Also manages releases.
    Developer,
    /// Read-only access.
    Viewer,
}

impl FromJson for AssignableRole {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        match String::from_json(value)?.as_str() {
            "Admin" => Ok(Self::Admin),
            "Developer" => Ok(Self::Developer),
            "Viewer" => Ok(Self::Viewer),
            _ => Err(Invalid::from("must be Admin, Developer or Viewer")),
        }
    }
}

body! {
    /// The collaborator to add.
    NewCollaborator example { "permission": "Developer" } {
        /// The role. Default: Developer.
        optional permission: AssignableRole,
        /// A step-up proof, as an alternative to a fresh dashboard session when assigning the role Admin.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The changes to a collaborator.
    CollaboratorPatch example { "permission": "Viewer" } {
        /// The new role.
        required permission: AssignableRole,
        /// A step-up proof, as an alternative to a fresh dashboard session when assigning the role Admin.
        optional step_up: StepUpProof,
    }
}

body! {
    /// The options for accepting an app.
    Acceptance example {} {
        /// Another name for a transferred app, if the caller already has an app with its name.
        optional name: String [min_length = 1, max_length = 255],
    }
}

/// A collaborator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Collaborator {
    /// The email address.
    pub email: String,
    /// The role.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub permission: Role,
}

/// One collaborator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CollaboratorAnswer {
    /// The collaborator.
    pub collaborator: Collaborator,
}

/// Somebody who has no account yet, and gets access once they confirm their address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AwaitedCollaborator {
    /// The email address.
    pub email: String,
    /// The role they get.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub permission: Role,
    /// Until when they can, as Unix time in milliseconds.
    pub expires: UnixMillis,
}

/// The collaborators of an app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CollaboratorsAnswer {
    /// The collaborators by email address.
    pub collaborators: BTreeMap<String, AppCollaborator>,
    /// Those who have no account yet, by email address. An import has read their addresses. Only for callers with `collaborators.manage`; absent
    /// if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub awaited: Vec<AwaitedCollaborator>,
}
