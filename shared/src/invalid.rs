//! Parse errors, with messages that are safe to show to the sender.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// A parse error, such as `must be 10 to 100 of A-Z a-z 0-9 _ -`. It never quotes the input, which may be secret or hostile, so it is safe to
/// return and to log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub Cow<'static, str>);

impl Invalid {
    /// The error of a member that is missing.
    pub const REQUIRED: Self = Self(Cow::Borrowed("is required"));
}

impl From<&'static str> for Invalid {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Invalid {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

/// An error in one field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field; empty when the error concerns the whole request.
    pub field: &'static str,
    /// The error.
    pub error: Invalid,
}

/// All errors in a request: `name: must be 1 to 255 characters; key: is missing`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// A single error in one field.
    pub fn of(field: &'static str, error: impl Into<Invalid>) -> Self {
        Self(vec![FieldError { field, error: error.into() }])
    }

    /// A single error that concerns the whole request.
    pub fn of_request(error: impl Into<Invalid>) -> Self {
        Self::of("", error)
    }

    /// Adds an error for `field`.
    pub fn add(&mut self, field: &'static str, error: impl Into<Invalid>) {
        self.0.push(FieldError { field, error: error.into() });
    }

    /// Returns the parsed value, or adds an error for `field` and returns `None`.
    pub fn take<T, E: Into<Invalid>>(&mut self, field: &'static str, parsed: Result<T, E>) -> Option<T> {
        parsed.map_err(|error| self.add(field, error)).ok()
    }

    /// Adds all errors of `others`.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether `field` has an error.
    pub fn is_about(&self, field: &str) -> bool {
        self.0.iter().any(|error| error.field == field)
    }

    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.0.iter()
    }
}

impl Display for FieldErrors {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for (place, FieldError { field, error }) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            let colon = if field.is_empty() { "" } else { ": " };
            write!(formatter, "{separator}{field}{colon}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FieldErrors {}
