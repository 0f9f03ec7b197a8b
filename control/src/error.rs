//! The one error of HTTP handlers, named by outcome. The cause is kept for the log and never reaches the client.

use std::borrow::Cow;
use std::error::Error as StdError;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A boxed cause, for the log.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// The result of handlers and services.
pub type AppResult<T> = Result<T, AppError>;

/// Why a request was not answered as asked; statuses as in decisions section 1.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// 404. The text names what was not found, e.g. `app`.
    #[error("{0} was not found")]
    NotFound(&'static str),
    /// 401 with `WWW-Authenticate: Bearer`.
    #[error("the access key is missing, invalid or expired")]
    Unauthenticated,
    /// 403 without a code.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// 400: what is wrong with the request, every bad field at once.
    #[error("{0}")]
    Invalid(String),
    /// 409: a rule of the business stands against it.
    #[error("{0}")]
    Conflict(String),
    /// 413.
    #[error("{0}")]
    TooLarge(String),
    /// 415.
    #[error("{0}")]
    WrongType(&'static str),
    /// 405; the router adds `Allow`.
    #[error("this method is not allowed here")]
    WrongMethod,
    /// 429 with `Retry-After`, in seconds.
    #[error("{0}")]
    TooMany(&'static str, u64),
    /// 503 with `Retry-After`: the database or the store cannot be reached.
    #[error("the service is unavailable for the moment, try again")]
    Unavailable(#[source] Cause),
    /// 500.
    #[error("internal error")]
    Internal(#[source] Cause),
}

impl AppError {
    /// An [`AppError::Internal`] from any cause.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }

    /// An [`AppError::Unavailable`] from any cause.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooMany(..) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What the outermost layer writes into the error envelope; it alone knows the request id.
#[derive(Clone, Debug)]
pub struct ProblemText(pub String);

/// Why a request failed, on its way to the outermost layer, which logs it with the request's id.
#[derive(Clone, Debug)]
pub struct FailureCause(pub String);

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        if let Self::Unavailable(cause) | Self::Internal(cause) = &self {
            response.extensions_mut().insert(FailureCause(chain(cause.as_ref())));
        }
        match &self {
            Self::Unauthenticated => {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooMany(_, seconds) => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*seconds));
            }
            Self::Unavailable(_) => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            _ => {}
        }
        response.extensions_mut().insert(ProblemText(self.to_string()));
        response
    }
}

/// An error and its causes in one line.
pub fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_) => {
                Self::unavailable(error)
            }
            sqlx::Error::Database(database) if database.code().is_some_and(|code| is_passing(&code)) => Self::unavailable(error),
            _ => Self::internal(error),
        }
    }
}

/// Whether a database's error code says that the same may well succeed later.
///
/// PostgreSQL (appendix A of its manual): connection lost, no resources, an operator's intervention, serialization and deadlock, lock time-out.
/// SQLite (its result codes, of which the low byte is the class): busy, locked, I/O error, full, cannot open.
fn is_passing(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5 | 6 | 10 | 13 | 14),
        _ => ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) || matches!(code, "40001" | "40P01" | "55P03"),
    }
}

impl From<getrandom::Error> for AppError {
    fn from(error: getrandom::Error) -> Self {
        Self::internal(error)
    }
}

/// Turns a unique violation into 409.
pub trait OrConflict<T> {
    /// A unique violation becomes [`AppError::Conflict`] with this text; no constraint is named, since SQLite names none.
    fn or_conflict(self, text: impl FnOnce() -> String) -> AppResult<T>;
}

impl<T> OrConflict<T> for sqlx::Result<T> {
    fn or_conflict(self, text: impl FnOnce() -> String) -> AppResult<T> {
        self.map_err(|error| match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => AppError::Conflict(text()),
            _ => AppError::from(error),
        })
    }
}
