//! What tells programs why a request was refused.

use serde::{Deserialize, Serialize};

/// The codes of refusals, as the interface lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Login needs a human-verification token.
    ChallengeRequired,
    /// Only a dashboard session may do this.
    DashboardSessionRequired,
    /// The time for setting up a second factor is over.
    MfaSetupRequired,
    /// The login is too old for lasting access: re-authenticate, or log in again.
    ReauthRequired,
    /// A fresh proof of a second factor is needed.
    StepUpRequired,
}

impl Code {
    /// The code as it is answered.
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
