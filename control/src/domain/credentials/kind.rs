//! What kinds of credentials there are.

/// What a credential is, by how it came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A login on the dashboard, or with an e-mail address and a password.
    DashboardSession,
    /// A command line that was let in through the browser.
    CliBrowser,
    /// A command line that was let in by a device code.
    CliDevice,
    /// A login from before origins were kept: a session, but not one of the dashboard.
    SessionWithoutOrigin,
    /// A named access key.
    NamedKey,
    /// An API key.
    ApiKey,
}

impl CredentialKind {
    /// The kind of a stored credential that is no API key: those have a table of their own. An origin that this version does not know is not taken for more than a session.
    pub fn of(is_session: bool, origin: Option<&str>) -> Self {
        match (origin, is_session) {
            (Some("dashboard_session"), _) => Self::DashboardSession,
            (Some("cli_browser"), _) => Self::CliBrowser,
            (Some("cli_device"), _) => Self::CliDevice,
            (Some(_), _) | (None, true) => Self::SessionWithoutOrigin,
            (None, false) => Self::NamedKey,
        }
    }

    /// `credentialOrigin` in answers and in the database; none of named keys and of sessions without one.
    pub fn origin(self) -> Option<&'static str> {
        match self {
            Self::DashboardSession => Some("dashboard_session"),
            Self::CliBrowser => Some("cli_browser"),
            Self::CliDevice => Some("cli_device"),
            Self::SessionWithoutOrigin | Self::NamedKey | Self::ApiKey => None,
        }
    }

    /// Its name in the audit trail: not [`CredentialKind::origin`], which named keys and old sessions have none of.
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

    /// Whether somebody signed in for it, on the dashboard or for a command line.
    pub fn is_login(self) -> bool {
        !matches!(self, Self::NamedKey | Self::ApiKey)
    }

    /// Whether it is a command line's.
    pub fn is_cli(self) -> bool {
        matches!(self, Self::CliBrowser | Self::CliDevice)
    }
}
