//! The kinds of credentials.

use shared::api::access_keys::CredentialOrigin;

/// The kind of a credential, by its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A login on the dashboard, or with an email address and a password.
    DashboardSession,
    /// A CLI authorized through a browser on the same machine.
    CliBrowser,
    /// A CLI authorized with a device code.
    CliDevice,
    /// A login from before origins were stored: a session, but not a dashboard session.
    SessionWithoutOrigin,
    /// A named access key.
    NamedKey,
    /// An API key.
    ApiKey,
}

impl CredentialKind {
    /// The kind of a stored credential other than an API key (those have their own table). An origin unknown to this version gets no more rights than a
    /// session without an origin.
    pub fn of(is_session: bool, origin: Option<&str>) -> Self {
        match (origin, is_session) {
            (Some("dashboard_session"), _) => Self::DashboardSession,
            (Some("cli_browser"), _) => Self::CliBrowser,
            (Some("cli_device"), _) => Self::CliDevice,
            (Some(_), _) | (None, true) => Self::SessionWithoutOrigin,
            (None, false) => Self::NamedKey,
        }
    }

    /// `credentialOrigin` in responses and in the database; none for named keys, API keys and sessions without an origin.
    pub fn origin(self) -> Option<CredentialOrigin> {
        match self {
            Self::DashboardSession => Some(CredentialOrigin::DashboardSession),
            Self::CliBrowser => Some(CredentialOrigin::CliBrowser),
            Self::CliDevice => Some(CredentialOrigin::CliDevice),
            Self::SessionWithoutOrigin | Self::NamedKey | Self::ApiKey => None,
        }
    }

    /// Its name in the audit trail. This is not [`CredentialKind::origin`], which some kinds do not have.
    pub fn in_trail(self) -> &'static str {
        match self {
            Self::DashboardSession => "dashboard_session",
            Self::CliBrowser => "cli_browser",
            Self::CliDevice => "cli_device",
            Self::SessionWithoutOrigin => "session",
            Self::NamedKey => "access_key",
            Self::ApiKey => "api_key",
        }
    }

    /// Whether someone signed in to get it, on the dashboard or for a CLI.
    pub fn is_login(self) -> bool {
        !matches!(self, Self::NamedKey | Self::ApiKey)
    }

    /// Whether it belongs to a CLI.
    pub fn is_cli(self) -> bool {
        matches!(self, Self::CliBrowser | Self::CliDevice)
    }
}
