//! What a link puts into the form for a new key, such as a link that the CLI opens. A value that the form would refuse is left out. Opening the link
//! creates nothing: only the form's button does.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shared::time::UnixMillis;

use super::until;
use crate::domain::credentials::scope::Scope;

/// The query of a link to a form; of duplicates, the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefill(HashMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Prefill {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.query().unwrap_or_default()))
    }
}

impl Prefill {
    fn of(query: &str) -> Self {
        let mut values = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            values.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(values)
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// `name`, if it can be a key's name; otherwise empty.
    pub(super) fn name<E>(&self, validate: impl FnOnce(&str) -> Result<String, E>) -> String {
        validate(self.text("name")).unwrap_or_default()
    }

    /// `expires`, if it is a date that is not over.
    pub(super) fn expires(&self, now: UnixMillis) -> Option<&str> {
        Some(self.text("expires")).filter(|day| until::end_of(day).is_ok_and(|end| end > now))
    }

    /// Whether `scopes` lists this scope, such as `deploy,read`.
    pub(super) fn has_scope(&self, scope: Scope) -> bool {
        self.text("scopes").split(',').any(|name| name == scope.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_left_out() {
        let prefill = Prefill::of("name=ci&name=other&expires=2026-12-03&scopes=deploy,admin");
        let now = until::end_of("2026-12-02").unwrap();
        assert_eq!(prefill.name(|name| Ok::<_, ()>(name.to_owned())), "ci");
        assert_eq!(prefill.name(|_| Err(())), "");
        assert_eq!(prefill.expires(now), Some("2026-12-03"));
        assert_eq!(prefill.expires(until::end_of("2026-12-03").unwrap()), None);
        assert_eq!(Prefill::of("expires=soon").expires(now), None);
        assert!(prefill.has_scope(Scope::Deploy) && !prefill.has_scope(Scope::Read));
        assert!(!Prefill::of("").has_scope(Scope::Apps));
    }
}
