//! The errors of parsing: what is wrong, in words that may be shown to the sender.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// What is wrong with a text that was to be parsed, such as `must be 10 to 100 of A-Z a-z 0-9 _ -`. Never quotes the text itself, so
/// that it can be answered and logged even when the text is a secret or hostile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub Cow<'static, str>);

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

/// What is wrong with one field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field; empty where the request as a whole is wrong.
    pub field: &'static str,
    /// What is wrong with it.
    pub error: Invalid,
}

/// What is wrong with a request, every field at once: `name: must be 1 to 255 characters; key: is missing`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// One error of a field.
    pub fn of(field: &'static str, error: impl Into<Invalid>) -> Self {
        Self(vec![FieldError { field, error: error.into() }])
    }

    /// One error of the request as a whole.
    pub fn of_request(error: impl Into<Invalid>) -> Self {
        Self::of("", error)
    }

    /// Notes that `field` is wrong.
    pub fn add(&mut self, field: &'static str, error: impl Into<Invalid>) {
        self.0.push(FieldError { field, error: error.into() });
    }

    /// The value, or nothing and a note that `field` is wrong.
    pub fn take<T, E: Into<Invalid>>(&mut self, field: &'static str, parsed: Result<T, E>) -> Option<T> {
        parsed.map_err(|error| self.add(field, error)).ok()
    }

    /// Notes what else is wrong.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether `field` is wrong.
    pub fn is_about(&self, field: &str) -> bool {
        self.0.iter().any(|error| error.field == field)
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors, in the order in which they were noted.
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
