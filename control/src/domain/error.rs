//! The one error of the rules, named by outcome. The cause is kept for the log and never reaches the client; what a client is told is in
//! [`crate::http::layer::problem`].

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

/// Why a request was not answered as asked; one variant for each kind of answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 404.
    #[error("{0} was not found")]
    NotFound(Thing),
    /// 401 with `WWW-Authenticate: Bearer`.
    #[error("the access key is missing, invalid or expired")]
    Unauthenticated,
    /// 401 without a challenge: a password, code or token in the body is wrong.
    #[error(transparent)]
    WrongCredentials(Credentials),
    /// 403, with the code of the refusal where it has one.
    #[error(transparent)]
    Refused(Refusal),
    /// 400: what is wrong with the request, every bad field at once.
    #[error(transparent)]
    Invalid(#[from] FieldErrors),
    /// 400 to a command line, whose text is this word of RFC 6749 or RFC 8628 alone.
    #[error("{}", .0.as_str())]
    NotExchanged(CliTokenError),
    /// 409: a rule of the business stands against it.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// 413: what of the request is larger than it may be. This and the next one are refused while a body is read; they are here because use cases take
    /// the result of that reading, so that their guards come first.
    #[error(transparent)]
    TooLarge(FieldErrors),
    /// 415. Which media type the body should have.
    #[error("the body must be {0}")]
    WrongType(&'static str),
    /// 429.
    #[error("{limit}")]
    TooMany {
        /// What there were too many of.
        limit: RateLimit,
        /// `Retry-After`, in seconds.
        retry_after: u64,
    },
    /// 409, or 429 for API keys, without `Retry-After`: there are as many as there may be, and waiting changes nothing.
    #[error(transparent)]
    Quota(Quota),
    /// 501: this server was not set up for it.
    #[error(transparent)]
    NotConfigured(Feature),
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

impl Error {
    /// What tells programs what would help, where something does.
    pub fn code(&self) -> Option<Code> {
        if let Self::Refused(refusal) = self { refusal.code() } else { None }
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

/// Turns a unique violation into 409.
pub trait OrConflict<T> {
    /// A unique violation becomes this conflict; no constraint is named, since SQLite names none.
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
