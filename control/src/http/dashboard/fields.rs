//! The fields of a submitted form.

use std::collections::HashMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::domain::error::{Error, Result};

/// A form's fields; of duplicates, the first. `Debug` prints no values, since they include passwords.
#[derive(Clone, Default)]
pub struct Fields(HashMap<String, String>);

impl std::fmt::Debug for Fields {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Fields({})", self.0.len())
    }
}

impl Fields {
    /// The fields of a body; empty when the body is not a form.
    pub(super) fn of(headers: &HeaderMap, body: &[u8]) -> Self {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
            return Self::default();
        }
        form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    /// A field's text, or `None` when the form does not have it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A field's text; empty when the form does not have it.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Whether a checkbox was checked, or the button with this name submitted the form.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Every field except these, sorted by name.
    pub(super) fn without(&self, names: &[&str]) -> Vec<(&str, &str)> {
        let mut left: Vec<(&str, &str)> = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        left.retain(|(name, _)| !names.contains(name));
        left.sort_unstable();
        left
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(sent: I) -> Self {
        let mut fields = HashMap::new();
        for (name, value) in sent {
            // PostgreSQL stores no NUL; nothing that people type has one.
            fields.entry(name).or_insert_with(|| value.replace('\0', "\u{fffd}"));
        }
        Self(fields)
    }
}

/// An extractor, like those for other parts of a request.
impl<S: Send + Sync> FromRequestParts<S> for Fields {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}
