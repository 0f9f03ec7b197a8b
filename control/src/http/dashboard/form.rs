//! Forms: their fields, and what is said at each when a service refuses what was sent.

use std::any::Any;

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::Response;

use super::view::{self, sentence, wait};
use crate::domain::error::{Code, Error, Result};
use shared::{FieldError, FieldErrors};

/// A field and what is shown with it. Templates show it by `form::field` of `dashboard/form.html`.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// Its name: the same as that of the member of the interface, so that faults find their field.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Its type, such as `email`.
    pub kind: &'static str,
    /// What it holds. Of passwords nothing is shown again.
    pub value: String,
    /// What browsers and password managers may fill in.
    pub autocomplete: &'static str,
    /// What helps to fill it in.
    pub hint: &'static str,
    /// What is wrong with it.
    pub error: Option<String>,
    /// Whether it may be left empty.
    pub is_optional: bool,
    /// Whether the page begins there.
    pub has_focus: bool,
    /// The keys that phones show: `numeric` for codes.
    pub input_mode: &'static str,
    /// A class of its own, for a script or a style.
    pub class: &'static str,
}

impl Field {
    /// A line of text.
    pub fn text(name: &'static str, label: &'static str) -> Self {
        Self { name, label, kind: "text", autocomplete: "off", ..Self::default() }
    }

    /// An e-mail address, which is the account's name.
    pub fn email(name: &'static str, label: &'static str) -> Self {
        Self { kind: "email", autocomplete: "username", ..Self::text(name, label) }
    }

    /// The password that somebody has.
    pub fn password(name: &'static str, label: &'static str) -> Self {
        Self { kind: "password", autocomplete: "current-password", ..Self::text(name, label) }
    }

    /// A password that is to be made.
    pub fn new_password(name: &'static str, label: &'static str) -> Self {
        let hint = "12 characters or more, and hard to guess: a few unrelated words make a good one.";
        Self { autocomplete: "new-password", hint, ..Self::password(name, label) }
    }

    /// A code of an authenticator app.
    pub fn code(name: &'static str, label: &'static str) -> Self {
        Self { autocomplete: "one-time-code", input_mode: "numeric", ..Self::text(name, label) }
    }

    /// What it holds.
    #[must_use]
    pub fn value(self, value: &str) -> Self {
        Self { value: value.to_owned(), ..self }
    }

    /// What helps to fill it in.
    #[must_use]
    pub fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// What browsers may fill in.
    #[must_use]
    pub fn autocomplete(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    /// It may be left empty.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// The page begins there.
    #[must_use]
    pub fn focused(self) -> Self {
        Self { has_focus: true, ..self }
    }

    /// A class of its own.
    #[must_use]
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// The text that an input shows.
    pub fn shown(&self) -> &str {
        if self.kind == "password" { "" } else { &self.value }
    }

    /// The ids of what is said about it, for `aria-describedby`.
    pub fn described_by(&self) -> String {
        let parts = [(!self.hint.is_empty(), "hint"), (self.error.is_some(), "error")];
        let ids: Vec<String> = parts.iter().filter(|(is_there, _)| *is_there).map(|(_, part)| format!("{}-{part}", self.name)).collect();
        ids.join(" ")
    }
}

/// A form: its fields in order, and why it was refused.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The fields.
    pub fields: Vec<Field>,
    /// What is wrong that no field is to blame for.
    pub refusal: Option<String>,
    /// Whether the page begins at what is said of the refusal: where no field is to blame.
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

    /// Whether something is wrong with a field.
    pub fn has_faults(&self) -> bool {
        self.fields.iter().any(|field| field.error.is_some())
    }

    /// The field of this name, for pages that set their fields one by one.
    pub fn field(&self, name: &str) -> Field {
        self.fields.iter().find(|field| field.name == name).cloned().unwrap_or_default()
    }

    /// Says at each field what a service says of it, and everything else above the form. What is no answer to what was sent (an ended session, one that is
    /// too old for this, a fault of ours) is given back: it has a page of its own.
    pub fn refuse(mut self, error: Error) -> Result<Self> {
        self.status = error.status();
        match &error {
            Error::Invalid(errors) => self.blame(errors),
            Error::TooMany { limit, retry_after } => {
                self.refusal = Some(format!("{} Try again in {}.", sentence(&limit.to_string()), wait(*retry_after)));
                self.retry_after = Some(*retry_after);
            }
            _ if error.code() == Some(Code::ReauthRequired) => return Err(error),
            Error::WrongCredentials(_) | Error::Refused(_) | Error::Conflict(_) | Error::Quota(_) | Error::NotConfigured(_) => {
                self.refusal = Some(sentence(&error.to_string()));
            }
            _ => return Err(error),
        }
        self.place_focus();
        Ok(self)
    }

    /// Whoever cannot see the page hears the summary first; the cursor then stands where something is to be done, or, where no field is to blame, at what
    /// is said.
    fn place_focus(&mut self) {
        let first_bad = self.fields.iter().position(|field| field.error.is_some());
        for (place, field) in self.fields.iter_mut().enumerate() {
            field.has_focus = first_bad == Some(place);
        }
        self.has_focus = first_bad.is_none();
    }

    /// Says this of a field that is at fault, in the place of what the service said.
    #[must_use]
    pub fn in_words(mut self, name: &str, text: &str) -> Self {
        for field in self.fields.iter_mut().filter(|field| field.name == name && field.error.is_some()) {
            field.error = Some(text.to_owned());
        }
        self
    }

    /// The page begins elsewhere: at a field that is none of these.
    #[must_use]
    pub fn unfocused(mut self) -> Self {
        self.has_focus = false;
        self.fields.iter_mut().for_each(|field| field.has_focus = false);
        self
    }

    /// The same in words of the page's own.
    #[must_use]
    pub fn refuse_saying(mut self, status: StatusCode, text: impl Into<String>) -> Self {
        self.status = status;
        self.refusal = Some(text.into());
        self.place_focus();
        self
    }

    /// The same for what is wrong with its only field.
    #[must_use]
    pub fn refuse_field(mut self, status: StatusCode, fault: &str, text: impl Into<String>) -> Self {
        for field in &mut self.fields {
            field.error = Some(fault.to_owned());
        }
        self.refuse_saying(status, text)
    }

    /// The page that shows it, with the status of its refusal.
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

    /// Says of each field what is wrong with it; what is wrong with none of them stands above the form.
    fn blame(&mut self, errors: &FieldErrors) {
        let mut others = Vec::new();
        for FieldError { field: name, error } in errors.iter() {
            match self.fields.iter_mut().find(|field| field.name == *name) {
                Some(field) => field.error = Some(sentence(&format!("{} {error}", field.label))),
                None if name.is_empty() => others.push(sentence(&error.0)),
                None => others.push(sentence(&format!("{name}: {error}"))),
            }
        }
        self.refusal = (!others.is_empty()).then(|| others.join(" "));
    }
}
