//! Errors of the infrastructure. The domain decides what they mean for a request.

use std::error::Error as StdError;

/// A boxed cause, for the log.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// An infrastructure error, by whether a retry can succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A limit is reached: nothing is broken, and a retry may succeed.
    #[error("too many operations are in progress")]
    Busy,
    /// Something is unreachable: a retry may succeed.
    #[error("service unavailable")]
    Unavailable(#[source] Cause),
    /// Something is broken: a retry will not succeed.
    #[error("internal failure")]
    Internal(#[source] Cause),
}

impl Error {
    /// An [`Error::Unavailable`] from any cause.
    pub fn unavailable(cause: impl Into<Cause>) -> Self {
        Self::Unavailable(cause.into())
    }

    /// An [`Error::Internal`] from any cause.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::Internal(cause.into())
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Self::internal(error)
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
