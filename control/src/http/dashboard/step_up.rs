//! Step-up in forms: a fresh proof of a second factor, by an authenticator code, or by a passkey, for which a script asks the browser.
//!
//! A page whose change needs a step-up creates a [`StepUp`] and includes `dashboard/step_up.html` in its form. It passes the [`proof`] in the form to the
//! service, and shows a refusal with [`StepUp::refuse`].

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use shared::wire::json::check_members;

use super::fields::Fields;
use super::form::{Field, Form};
use crate::domain::access::LoginSession;
use crate::domain::context::Context;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::second_factors::passkeys::{self, Answer};
use crate::domain::second_factors::{Factors, Proof, factors};
use crate::http::extract::Json;

/// The form field for an authenticator code.
pub(super) const CODE: &str = "stepUpCode";

/// The form field for a passkey's answer, which a script fills in.
pub(super) const ANSWER: &str = "stepUp";

/// What a form asks for, besides its own fields.
#[derive(Clone, Debug)]
pub struct StepUp {
    found: Factors,
    /// Whether a passkey can be used.
    pub has_passkey: bool,
    /// The field for a code, if the account has an authenticator app.
    pub code: Option<Field>,
    /// Whether using a passkey submits the form. It does not if the browser is asked for something else as well.
    pub sends: bool,
    /// Whether there is no alternative.
    pub is_only_way: bool,
}

impl StepUp {
    /// The step-up for the caller's account.
    pub async fn of(app: &Context, caller: &LoginSession) -> Result<Self> {
        let found = factors::find(&mut app.db.read().await?, caller.account()).await?;
        let code = (found.authenticators > 0).then(|| Field::code(CODE, "Authenticator code"));
        Ok(Self { found, has_passkey: found.passkeys > 0 && passkeys::is_configured(app), code, sends: true, is_only_way: true })
    }

    /// Whether the account has a second factor, so that a proof is needed.
    pub fn is_needed(&self) -> bool {
        self.found.are_on()
    }

    /// Whether there is only one second factor.
    pub fn is_last(&self) -> bool {
        self.found.passkeys + self.found.authenticators == 1
    }

    /// For a form in which the browser fills in more after the passkey was used.
    #[must_use]
    pub fn before_another(self) -> Self {
        Self { sends: false, ..self }
    }

    /// For a form with an alternative, which its page mentions.
    #[must_use]
    pub fn beside_another_way(self) -> Self {
        Self { is_only_way: false, ..self }
    }

    /// With another label for the code, for forms that ask for two codes.
    #[must_use]
    pub fn labeled(self, label: &'static str) -> Self {
        Self { code: self.code.map(|code| Field { label, ..code }), ..self }
    }

    /// Shows a refusal: of the proof in words of the pages, of everything else like [`Form::refuse`].
    pub fn refuse(&mut self, form: Form, sent: &Fields, error: Error) -> Result<Form> {
        let text = match error {
            Error::Refused(Refusal::StepUpCodesStopped) => "Too many wrong codes. Use a passkey, or reset your password.",
            Error::Refused(Refusal::NoStepUp) => return Ok(self.refuse_proof(form, sent)),
            error => return form.refuse(error),
        };
        Ok(form.refuse_with_text(StatusCode::FORBIDDEN, text))
    }

    fn refuse_proof(&mut self, form: Form, sent: &Fields) -> Form {
        let mut is_code_wrong = false;
        let text = if !sent.text(ANSWER).is_empty() {
            "The passkey was not accepted. Try again."
        } else if sent.text(CODE).trim().is_empty() {
            "Confirm this change with two-factor authentication."
        } else {
            if let Some(code) = &mut self.code {
                code.error = Some("The code is incorrect or was already used. Wait for the next one.".to_owned());
                code.has_focus = true;
                is_code_wrong = true;
            }
            "No changes were made. The code was not accepted."
        };
        let form = form.refuse_with_text(StatusCode::FORBIDDEN, text);
        if is_code_wrong { form.unfocused() } else { form }
    }
}

/// The proof in a form, if any.
pub fn proof(sent: &Fields) -> Option<Proof> {
    match (sent.text(ANSWER), sent.text(CODE).trim()) {
        ("", "") => None,
        ("", code) => Some(Proof::Totp(code.to_owned())),
        (text, _) => Some(Proof::Passkey(answer(text))),
    }
}

/// A passkey's answer, which a script put into a field. Invalid JSON and duplicate members become an empty answer, which proves nothing.
pub(super) fn answer(text: &str) -> Answer {
    check_members(text.as_bytes()).and_then(|()| serde_json::from_str(text)).unwrap_or_default()
}

/// Shows why signing in with a passkey was refused.
pub(super) fn refuse_passkey(form: Form, error: Error) -> Result<Form> {
    if !matches!(error, Error::WrongCredentials(_)) {
        return form.refuse(error);
    }
    let text = "The passkey was not accepted, or the request timed out. Try again, or sign in another way.";
    Ok(form.refuse_with_text(StatusCode::UNAUTHORIZED, text))
}

/// The response to a script that asks for passkey options: the options, or why there are none, in words for the page.
pub(super) fn options_response(options: Result<impl Serialize>) -> Result<Response> {
    match options {
        Ok(options) => Ok(Json(options).into_response()),
        // Status 200, since browsers log failures. The script then submits the form, and the response asks for a fresh proof.
        Err(error) if error.asks_for_login() => Ok(Json(json!({ "reauthenticate": true })).into_response()),
        Err(error) => {
            let status = error.status();
            let problem = Form::default().refuse(error)?.refusal;
            Ok((status, Json(json!({ "problem": problem }))).into_response())
        }
    }
}
