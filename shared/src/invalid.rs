//! The one error of parsing: what is wrong, in words that may be shown to the sender.

use std::borrow::Cow;
use std::fmt::Display;

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

/// Collects what is wrong with each field, so that a sender learns of all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(String);

impl Faults {
    /// Notes that `field` is wrong.
    pub(crate) fn add(&mut self, field: &str, what: impl Display) {
        if !self.0.is_empty() {
            self.0.push_str("; ");
        }
        self.0.push_str(field);
        self.0.push_str(": ");
        self.0.push_str(&what.to_string());
    }

    /// The value, or nothing and a note that `field` is wrong.
    pub(crate) fn take<T>(&mut self, field: &str, parsed: Result<T, Invalid>) -> Option<T> {
        parsed.map_err(|fault| self.add(field, fault)).ok()
    }

    /// What was noted, as one error: `name: must be 1 to 255 characters; key: is missing`.
    pub(crate) fn into_invalid(self) -> Invalid {
        Invalid::from(self.0)
    }
}
