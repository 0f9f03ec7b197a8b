//! Collaborators of apps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apps::AppCollaborator;
use super::body::body;
use super::field::FromJson;
use super::second_factors::StepUpProof;
use crate::Invalid;

/// A role that can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AssignableRole {
    /// Manages deployments and collaborators.
    Admin,
    /// Releases.
    Developer,
    /// Reads.
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
    /// A collaborator to be added.
    NewCollaborator example { "permission": "Developer" } {
        /// The role; Developer when absent.
        optional permission: AssignableRole,
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh and gives the role Admin.
        optional step_up: StepUpProof,
    }
}

body! {
    /// What is to change of a collaborator.
    CollaboratorPatch example { "permission": "Viewer" } {
        /// The new role.
        required permission: AssignableRole,
        /// A fresh proof of a second factor, for a dashboard session that is no longer fresh and gives the role Admin.
        optional step_up: StepUpProof,
    }
}

body! {
    /// How an app is accepted.
    Acceptance example {} {
        /// Another name for an app that was transferred to the caller, who has an app of its name already.
        optional name: String [min_length = 1, max_length = 255],
    }
}

/// A collaborator by its address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Collaborator {
    /// The e-mail address.
    pub email: String,
    /// The role.
    pub permission: String,
}

/// One collaborator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CollaboratorAnswer {
    /// The collaborator.
    pub collaborator: Collaborator,
}

/// Collaborators by address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CollaboratorsAnswer {
    /// The collaborators.
    pub collaborators: BTreeMap<String, AppCollaborator>,
}
