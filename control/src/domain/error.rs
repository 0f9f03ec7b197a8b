//! The error type of the domain, one variant per outcome. The cause is kept for the log and never reaches the client;
//! [`crate::http::layer::problem`] turns an error into the response.

use shared::api::cli_login::CliTokenError;
pub use shared::api::problem::Code;
use shared::{FieldErrors, Invalid};

use crate::domain::conflict::Conflict;
pub use crate::domain::refusal::{Credentials, Feature, Quota, RateLimit, Refusal, Thing};
use crate::infra;
use crate::infra::crypto::seal::OpenError;
pub use crate::infra::error::{Cause, chain};

/// The result of handlers and services.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request failed: one variant per kind of response.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 404.
    #[error("{0} was not found")]
    NotFound(Thing),
    /// 401 with `WWW-Authenticate: Bearer`.
    #[error("the access key is missing, invalid or expired")]
    Unauthenticated,
    /// 401 without `WWW-Authenticate`: a password, code or token in the body is wrong.
    #[error(transparent)]
    WrongCredentials(Credentials),
    /// 403, with the refusal's code if it has one.
    #[error(transparent)]
    Refused(Refusal),
    /// 400: every invalid field at once.
    #[error(transparent)]
    Invalid(#[from] FieldErrors),
    /// 400 to a CLI. The message is only this error code of RFC 6749 or RFC 8628.
    #[error("{}", .0.as_str())]
    NotExchanged(CliTokenError),
    /// 409: a business rule refused the change.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// 413: what exceeds its size limit. This and the next variant come from reading a body. They are here because use cases take the result of that
    /// reading, so that their guards run first.
    #[error(transparent)]
    TooLarge(FieldErrors),
    /// 415: the media type that the body must have.
    #[error("the body must be {0}")]
    WrongType(&'static str),
    /// 429.
    #[error("{limit}")]
    TooMany {
        /// The limit that was exceeded.
        limit: RateLimit,
        /// `Retry-After`, in seconds.
        retry_after: u64,
    },
    /// 409, or 429 for API keys, without `Retry-After`: a quota is reached, and waiting does not help.
    #[error(transparent)]
    Quota(Quota),
    /// 501: this server is not configured for it.
    #[error(transparent)]
    NotConfigured(Feature),
    /// 503 with `Retry-After` and the message of the next variant: a concurrency limit refused it. The limit logs that itself; nothing failed.
    #[error("the service is temporarily unavailable: try again")]
    Busy,
    /// 503 with `Retry-After`: the database or the bundle storage cannot be reached.
    #[error("the service is temporarily unavailable: try again")]
    Unavailable(#[source] Cause),
    /// 500.
    #[error("internal error")]
    Internal(#[source] Cause),
}

impl Error {
    /// Whether the caller must sign in again or re-authenticate, because the session is not fresh.
    pub fn asks_for_login(&self) -> bool {
        matches!(self, Self::Refused(Refusal::NotFresh | Refusal::LoginTooOld))
    }

    /// Whether the caller must pass a human-verification challenge first.
    pub fn asks_for_challenge(&self) -> bool {
        matches!(self, Self::Refused(Refusal::NoChallenge | Refusal::NoChallengeAfterFailures))
    }

    /// An [`Error::Invalid`] about one field.
    pub fn invalid(field: &'static str, error: impl Into<Invalid>) -> Self {
        Self::Invalid(FieldErrors::of(field, error))
    }

    /// An [`Error::Internal`] from any cause.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// An [`Error::Unavailable`] from any cause.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_) => {
                Self::unavailable(error)
            }
            sqlx::Error::Database(database) if database.code().is_some_and(|code| is_transient(&code)) => Self::unavailable(error),
            // Ids come from the database, so the row existed a moment ago.
            sqlx::Error::Database(database) if database.is_foreign_key_violation() => Self::Conflict(Conflict::Gone),
            _ => Self::internal(error),
        }
    }
}

/// Whether a database error code is transient: a retry may succeed.
///
/// PostgreSQL (appendix A of its manual): connection lost, insufficient resources, operator intervention, serialization failure, deadlock, lock
/// timeout, idle-in-transaction timeout.
/// SQLite (the low byte of the result code): busy, locked, I/O error, full, cannot open.
fn is_transient(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5 | 6 | 10 | 13 | 14),
        _ => ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) || matches!(code, "40001" | "40P01" | "55P03" | "25P03"),
    }
}

impl From<infra::error::Error> for Error {
    fn from(error: infra::error::Error) -> Self {
        match error {
            infra::error::Error::Busy => Self::Busy,
            infra::error::Error::Unavailable(cause) => Self::Unavailable(cause),
            infra::error::Error::Internal(cause) => Self::Internal(cause),
        }
    }
}

impl From<CliTokenError> for Error {
    fn from(error: CliTokenError) -> Self {
        Self::NotExchanged(error)
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Self::internal(error)
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Self::internal(error)
    }
}

/// Turns a unique violation into a conflict (409).
pub trait OrConflict<T> {
    /// Turns a unique violation into this conflict. No constraint is checked by name, since SQLite names none.
    fn or_conflict(self, conflict: impl FnOnce() -> Conflict) -> Result<T>;
}

impl<T> OrConflict<T> for sqlx::Result<T> {
    fn or_conflict(self, conflict: impl FnOnce() -> Conflict) -> Result<T> {
        self.map_err(|error| match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => Error::Conflict(conflict()),
            _ => Error::from(error),
        })
    }
}
