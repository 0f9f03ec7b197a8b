//! Forms: their fields, and the errors at each field when a service refuses the input.

use std::any::Any;

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::Response;

use super::fields::Fields;
use super::roles;
use super::view::{self, sentence, wait};
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Result};
use shared::{FieldError, FieldErrors};

/// A field and what is shown with it. Templates show it with `ui::field` of `dashboard/ui.html`.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// Its name: that of the API's member, so that errors find their field.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Its type, such as `email`.
    pub kind: &'static str,
    /// Its value. Passwords are never shown again.
    pub value: String,
    /// The `autocomplete` attribute, for browsers and password managers.
    pub autocomplete: &'static str,
    /// A hint on how to fill it in.
    pub hint: &'static str,
    /// The error.
    pub error: Option<String>,
    /// Whether it may be left empty.
    pub is_optional: bool,
    /// Whether it has the initial focus.
    pub has_focus: bool,
    /// The keyboard that phones show: `numeric` for codes.
    pub input_mode: &'static str,
    /// A class for a script or a style.
    pub class: &'static str,
    /// Whether people write sentences in it, with capital letters and a spelling checker.
    pub is_prose: bool,
}

impl Field {
    /// A line of text.
    pub fn text(name: &'static str, label: &'static str) -> Self {
        Self { name, label, kind: "text", autocomplete: "off", ..Self::default() }
    }

    /// A line of prose, such as a description.
    pub fn prose(name: &'static str, label: &'static str) -> Self {
        Self { is_prose: true, ..Self::text(name, label) }
    }

    /// An email address, which is the user name.
    pub fn email(name: &'static str, label: &'static str) -> Self {
        Self { kind: "email", autocomplete: "username", ..Self::text(name, label) }
    }

    /// The current password.
    pub fn password(name: &'static str, label: &'static str) -> Self {
        Self { kind: "password", autocomplete: "current-password", ..Self::text(name, label) }
    }

    /// A new password.
    pub fn new_password(name: &'static str, label: &'static str) -> Self {
        let hint = "At least 12 characters and hard to guess. A few unrelated words work well.";
        Self { autocomplete: "new-password", hint, ..Self::password(name, label) }
    }

    /// A code from an authenticator app.
    pub fn code(name: &'static str, label: &'static str) -> Self {
        Self { autocomplete: "one-time-code", input_mode: "numeric", ..Self::text(name, label) }
    }

    /// Sets the value.
    #[must_use]
    pub fn value(self, value: &str) -> Self {
        Self { value: value.to_owned(), ..self }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Sets `autocomplete`.
    #[must_use]
    pub fn autocomplete(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    /// Makes it optional.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// Gives it the initial focus.
    #[must_use]
    pub fn focused(self) -> Self {
        Self { has_focus: true, ..self }
    }

    /// Sets the class.
    #[must_use]
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// The value that the input shows.
    pub fn shown(&self) -> &str {
        if self.kind == "password" { "" } else { &self.value }
    }

    /// The ids of its hint and error, for `aria-describedby`.
    pub fn described_by(&self) -> String {
        let parts = [(!self.hint.is_empty(), "hint"), (self.error.is_some(), "error")];
        let ids: Vec<String> = parts.iter().filter(|(is_there, _)| *is_there).map(|(_, part)| format!("{}-{part}", self.name)).collect();
        ids.join(" ")
    }
}

/// A form: its fields in order, and the reason for a refusal.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The fields.
    pub fields: Vec<Field>,
    /// An error that belongs to no field.
    pub refusal: Option<String>,
    /// Whether the error summary has the initial focus: when no field has an error.
    pub has_focus: bool,
    /// The page's status.
    status: StatusCode,
    retry_after: Option<u64>,
}

impl Form {
    /// A form of these fields.
    pub fn of(fields: impl IntoIterator<Item = Field>) -> Self {
        Self { fields: fields.into_iter().collect(), ..Self::default() }
    }

    /// Whether it was refused.
    pub fn is_refused(&self) -> bool {
        self.refusal.is_some() || self.has_faults()
    }

    /// Whether a field has an error.
    pub fn has_faults(&self) -> bool {
        self.fields.iter().any(|field| field.error.is_some())
    }

    /// The field with this name, for pages that place their fields one by one.
    pub fn field(&self, name: &str) -> Field {
        self.fields.iter().find(|field| field.name == name).cloned().unwrap_or_default()
    }

    /// Keeps what was typed, so that a refused form loses nothing. A field that was not on the page stays as it is.
    pub fn keep(&mut self, sent: &Fields) {
        for field in &mut self.fields {
            if let Some(text) = sent.get(field.name) {
                text.clone_into(&mut field.value);
            }
        }
    }

    /// Shows a service's errors at their fields, and all others above the form. Errors that are not about the input are returned, since they have pages
    /// of their own: an expired session, one that is not fresh enough, an internal error.
    pub fn refuse(mut self, error: Error) -> Result<Self> {
        self.status = error.status();
        match &error {
            Error::Invalid(errors) => self.place_errors(errors),
            Error::TooMany { limit, retry_after } => {
                self.refusal = Some(format!("{} Try again in {}.", sentence(&limit.to_string()), wait(*retry_after)));
                self.retry_after = Some(*retry_after);
            }
            _ if error.asks_for_login() => return Err(error),
            // In the words of the form instead of those of the API.
            Error::Conflict(Conflict::SameContents(label)) => {
                self.refusal = Some(format!("The contents are identical to v{label}, the current release for this target version."));
            }
            Error::Refused(refusal) => self.refusal = Some(roles::refused(refusal)),
            Error::Conflict(conflict) => {
                let text = error.to_string();
                let (name, fault) = match conflict {
                    Conflict::AppName(_) | Conflict::AppNameToMove(_) | Conflict::NameOfOthers(_) | Conflict::DeploymentName(_) => {
                        ("name", sentence(&text))
                    }
                    Conflict::KeyTaken => ("key", sentence(&text)),
                    // Some begin with the name of the field that they are about.
                    _ => {
                        let (name, fault) = text.split_once(": ").unwrap_or_default();
                        (name, about(self.field(name).label, fault))
                    }
                };
                match self.fields.iter_mut().find(|field| field.name == name) {
                    Some(field) => field.error = Some(fault),
                    None => self.refusal = Some(sentence(&text)),
                }
            }
            Error::WrongCredentials(_) | Error::Quota(_) | Error::NotConfigured(_) => {
                self.refusal = Some(sentence(&error.to_string()));
            }
            _ => return Err(error),
        }
        self.place_focus();
        Ok(self)
    }

    /// Focuses the first field with an error, or the summary when there is none. Screen readers announce the summary first.
    fn place_focus(&mut self) {
        let first_bad = self.fields.iter().position(|field| field.error.is_some());
        for (place, field) in self.fields.iter_mut().enumerate() {
            field.has_focus = first_bad == Some(place);
        }
        self.has_focus = first_bad.is_none();
    }

    /// Replaces the error of a field, if it has one.
    #[must_use]
    pub fn in_words(mut self, name: &str, text: &str) -> Self {
        for field in self.fields.iter_mut().filter(|field| field.name == name && field.error.is_some()) {
            field.error = Some(text.to_owned());
        }
        self
    }

    /// Removes the initial focus, for a page that focuses another field.
    #[must_use]
    pub fn unfocused(mut self) -> Self {
        self.has_focus = false;
        self.fields.iter_mut().for_each(|field| field.has_focus = false);
        self
    }

    /// Refuses the form in the page's own words.
    #[must_use]
    pub fn refuse_with_text(mut self, status: StatusCode, text: impl Into<String>) -> Self {
        self.status = status;
        self.refusal = Some(text.into());
        self.place_focus();
        self
    }

    /// The same for an error of its only field.
    #[must_use]
    pub fn refuse_field(mut self, status: StatusCode, fault: &str, text: impl Into<String>) -> Self {
        for field in &mut self.fields {
            field.error = Some(fault.to_owned());
        }
        self.refuse_with_text(status, text)
    }

    /// The same for one field of several.
    #[must_use]
    pub fn refuse_one(mut self, name: &str, status: StatusCode, fault: &str, text: impl Into<String>) -> Self {
        for field in self.fields.iter_mut().filter(|field| field.name == name) {
            field.error = Some(fault.to_owned());
        }
        self.refuse_with_text(status, text)
    }

    /// Renders the page, with the status of the refusal.
    pub fn page(&self, template: &impl Template) -> Result<Response> {
        let is_refused = self.is_refused();
        let values: [(&str, &dyn Any); 1] = [(view::IS_REFUSED, &is_refused)];
        let html = template.render_with_values(&values).map_err(Error::internal)?;
        let mut response = view::html(self.status, html);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        Ok(response)
    }

    /// Places each error at its field; errors of other fields go above the form.
    fn place_errors(&mut self, errors: &FieldErrors) {
        let mut others = Vec::new();
        for FieldError { field: name, error } in errors.iter() {
            match self.fields.iter_mut().find(|field| is_same(field.name, name)) {
                Some(field) => field.error = Some(about(field.label, &error.0)),
                None if name.is_empty() => others.push(sentence(&error.0)),
                None => others.push(sentence(&format!("{name}: {error}"))),
            }
        }
        self.refusal = (!others.is_empty()).then(|| others.join(" "));
    }
}

/// Whether two names are the same in camel case and in snake case: update checks have both.
fn is_same(left: &str, right: &str) -> bool {
    let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
    letters(left) == letters(right)
}

/// The words that errors begin with whose subject is the field. Others are sentences of their own.
const PREDICATES: [&str; 7] = ["accepts", "belongs", "can", "has", "is", "must", "was"];

/// A field's error as a sentence: `Name is required.`, or `Bundle: the file is empty.`
fn about(label: &str, error: &str) -> String {
    let first = error.split(' ').next().unwrap_or_default();
    sentence(&if PREDICATES.contains(&first) { format!("{label} {error}") } else { format!("{label}: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shown_at_their_field_as_sentences() {
        let errors = |name, text: &str| Error::Invalid(FieldErrors::of(name, text.to_owned()));
        for (name, text, shown) in [
            ("package", "is required", "Bundle is required."),
            ("package", "the file is empty", "Bundle: the file is empty."),
            ("app_version", "must be a semantic version, such as 1.0.0", "App version must be a semantic version, such as 1.0.0."),
        ] {
            let form = Form::of([Field::text("package", "Bundle"), Field::text("appVersion", "App version")]);
            let refused = form.refuse(errors(name, text)).unwrap();
            let faults: Vec<_> = refused.fields.iter().filter_map(|field| field.error.as_deref()).collect();
            assert_eq!((faults, &refused.refusal), (vec![shown], &None));
        }
    }
}
