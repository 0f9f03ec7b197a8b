//! Why something that the rules stand on did not work. What that means for a request is the rules' to say.

use std::error::Error as StdError;

/// A boxed cause, for the log.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// A fault, by what helps against it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A bound has refused it: nothing is at fault, and the same may well succeed later.
    #[error("too much is under way")]
    Busy,
    /// Something cannot be reached: the same may well succeed later.
    #[error("it cannot be reached")]
    Unavailable(#[source] Cause),
    /// Something is broken: the same will not succeed.
    #[error("it does not work")]
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
