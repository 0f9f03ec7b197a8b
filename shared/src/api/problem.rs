//! Error codes.

use serde::{Deserialize, Serialize};

/// The error codes of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Login requires a human-verification token.
    ChallengeRequired,
    /// Only a dashboard session can do this.
    DashboardSessionRequired,
    /// The deadline to set up two-factor authentication has passed.
    MfaSetupRequired,
    /// The session is not fresh: re-authenticate or log in again.
    ReauthRequired,
    /// A fresh step-up proof is required.
    StepUpRequired,
}

impl Code {
    /// The code in responses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChallengeRequired => "challenge_required",
            Self::DashboardSessionRequired => "dashboard_session_required",
            Self::MfaSetupRequired => "mfa_setup_required",
            Self::ReauthRequired => "reauth_required",
            Self::StepUpRequired => "step_up_required",
        }
    }
}
