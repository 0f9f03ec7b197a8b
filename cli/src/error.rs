//! The one error type: what happened, what to do next, and the exit code.

use crate::output::terminal;

/// What kind of failure it is. Each has an exit code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The server refused, or something failed here.
    Failed,
    /// The arguments or the project file are wrong.
    Usage,
    /// There is no credential, or the server no longer accepts it.
    NotSignedIn,
    /// There is no such thing: the server does not have it, or no server is known by that name.
    NotFound,
    /// It conflicts with what the server has.
    Conflict,
    /// The server cannot be reached, or cannot answer.
    Unreachable,
    /// Ctrl-C.
    Interrupted,
}

impl Kind {
    /// The exit code. 7 and 8 are reserved for rollouts.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotSignedIn => 3,
            Self::NotFound => 4,
            Self::Conflict => 5,
            Self::Unreachable => 6,
            Self::Interrupted => 130,
        }
    }
}

/// A failed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    /// The kind of failure.
    pub kind: Kind,
    /// What happened: one line.
    pub what: String,
    /// What to do next: one line.
    pub next: String,
    /// The server's status and error code, if it answered.
    pub answer: Option<Refusal>,
}

/// How the server refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The server's error code, such as `dashboard_session_required`.
    pub code: Option<String>,
    /// The request's ID in the server's log.
    pub request_id: Option<String>,
}

/// The result of a command or a part of one.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of this kind.
    pub(crate) fn new(kind: Kind, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { kind, what: what.into(), next: next.into(), answer: None }
    }

    /// A failure on this machine, or a refusal.
    pub(crate) fn failed(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Kind::Failed, what, next)
    }

    /// Wrong arguments or a wrong project file.
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what, next)
    }

    /// The same failure with other advice.
    #[must_use]
    pub(crate) fn with_next(self, next: impl Into<String>) -> Self {
        Self { next: next.into(), ..self }
    }

    /// The server's status, if it answered.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|refusal| refusal.status)
    }

    /// The server's error code, if it sent one.
    pub(crate) fn code(&self) -> Option<&str> {
        self.answer.as_ref().and_then(|refusal| refusal.code.as_deref())
    }

    /// Prints it to standard error.
    pub(crate) fn print(&self) {
        let style = terminal::stderr_style();
        terminal::line(&format!("{} {}", style.error("error:"), self.what));
        if !self.next.is_empty() {
            terminal::line(&format!("  {} {}", style.dim("next:"), self.next));
        }
        if let Some(id) = self.answer.as_ref().filter(|refusal| refusal.status >= 500).and_then(|refusal| refusal.request_id.as_deref()) {
            terminal::line(&format!("  {} {id}", style.dim("request ID:")));
        }
    }
}
