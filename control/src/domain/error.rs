//! The one error of the rules, named by outcome. The cause is kept for the log and never reaches the client; what a client is told is in
//! [`crate::http::layer::problem`].

use std::borrow::Cow;

use shared::{FieldErrors, Invalid};

use crate::domain::conflict::Conflict;
use crate::infra;
use crate::infra::crypto::seal::OpenError;
pub use crate::infra::error::{Cause, chain};

/// The result of handlers and services.
pub type AppResult<T> = Result<T, AppError>;

/// Why a request was not answered as asked; one variant for each kind of answer.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// 404. The text names what was not found, e.g. `app`.
    #[error("{0} was not found")]
    NotFound(&'static str),
    /// 401 with `WWW-Authenticate: Bearer`.
    #[error("the access key is missing, invalid or expired")]
    Unauthenticated,
    /// 401 without a challenge: a password, code or token in the body is wrong.
    #[error("{0}")]
    WrongCredentials(&'static str),
    /// 403 without a code.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// 403 to a login that was right.
    #[error("this account is suspended: contact your administrator")]
    Suspended,
    /// 403 with a code that tells programs what would help.
    #[error("{1}")]
    Coded(Code, &'static str),
    /// 400: what is wrong with the request, every bad field at once.
    #[error(transparent)]
    Invalid(#[from] FieldErrors),
    /// 409: a rule of the business stands against it.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// 413.
    #[error("{0}")]
    TooLarge(String),
    /// 415.
    #[error("{0}")]
    WrongType(&'static str),
    /// 405; the router adds `Allow`.
    #[error("this method is not allowed here")]
    WrongMethod,
    /// 429.
    #[error("{text}")]
    TooMany {
        /// What there were too many of.
        text: &'static str,
        /// `Retry-After`, in seconds.
        retry_after: u64,
        /// Whether the body says it, too: on login and second factors only.
        is_in_body: bool,
    },
    /// 429 without `Retry-After`: there are as many as the account may have, and waiting changes nothing.
    #[error("{0}")]
    QuotaReached(&'static str),
    /// 501: this server was not set up for it.
    #[error("{0}")]
    NotConfigured(&'static str),
    /// 503 with `Retry-After`, told like the next one: a limit has refused it, which is noted with the limit, and nothing is at fault.
    #[error("the service is unavailable for the moment, try again")]
    Busy,
    /// 503 with `Retry-After`: the database or the store cannot be reached.
    #[error("the service is unavailable for the moment, try again")]
    Unavailable(#[source] Cause),
    /// 500.
    #[error("internal error")]
    Internal(#[source] Cause),
}

/// The codes of refusals, as the interface lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Every code.
    pub const ALL: [Self; 5] =
        [Self::ChallengeRequired, Self::DashboardSessionRequired, Self::MfaSetupRequired, Self::ReauthRequired, Self::StepUpRequired];

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

impl AppError {
    /// An [`AppError::Invalid`] about one field.
    pub fn invalid(field: &'static str, error: impl Into<Invalid>) -> Self {
        Self::Invalid(FieldErrors::of(field, error))
    }

    /// An [`AppError::Internal`] from any cause.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// An [`AppError::Unavailable`] from any cause.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_) => {
                Self::unavailable(error)
            }
            sqlx::Error::Database(database) if database.code().is_some_and(|code| is_passing(&code)) => Self::unavailable(error),
            // Ids come out of the database, so what one names was there a moment ago.
            sqlx::Error::Database(database) if database.is_foreign_key_violation() => Self::Conflict(Conflict::Gone),
            _ => Self::internal(error),
        }
    }
}

/// Whether a database's error code says that the same may well succeed later.
///
/// PostgreSQL (appendix A of its manual): connection lost, no resources, an operator's intervention, serialization and deadlock, lock time-out, ended
/// because the transaction lay idle.
/// SQLite (its result codes, of which the low byte is the class): busy, locked, I/O error, full, cannot open.
fn is_passing(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5 | 6 | 10 | 13 | 14),
        _ => ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) || matches!(code, "40001" | "40P01" | "55P03" | "25P03"),
    }
}

impl From<infra::error::Error> for AppError {
    fn from(error: infra::error::Error) -> Self {
        match error {
            infra::error::Error::Busy => Self::Busy,
            infra::error::Error::Unavailable(cause) => Self::Unavailable(cause),
            infra::error::Error::Internal(cause) => Self::Internal(cause),
        }
    }
}

impl From<OpenError> for AppError {
    fn from(error: OpenError) -> Self {
        Self::internal(error)
    }
}

impl From<getrandom::Error> for AppError {
    fn from(error: getrandom::Error) -> Self {
        Self::internal(error)
    }
}

/// Turns a unique violation into 409.
pub trait OrConflict<T> {
    /// A unique violation becomes this conflict; no constraint is named, since SQLite names none.
    fn or_conflict(self, conflict: impl FnOnce() -> Conflict) -> AppResult<T>;
}

impl<T> OrConflict<T> for sqlx::Result<T> {
    fn or_conflict(self, conflict: impl FnOnce() -> Conflict) -> AppResult<T> {
        self.map_err(|error| match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => AppError::Conflict(conflict()),
            _ => AppError::from(error),
        })
    }
}
