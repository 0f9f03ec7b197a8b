//! Fresh proofs of a second factor, as forms ask for them: a code of the authenticator app, or a passkey, for which a script asks the browser.
//!
//! A page that changes what second factors guard makes a [`StepUp`], shows it with `dashboard/step_up.html` inside its form, gives the service what
//! [`proof`] makes of the form, and lets [`StepUp::refuse`] say what was wrong.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use shared::wire::json::check_members;

use super::fields::Fields;
use super::form::{Field, Form};
use crate::domain::access::LoginSession;
use crate::domain::context::Context;
use crate::domain::error::{Code, Error, Result};
use crate::domain::second_factors::passkeys::{self, Answer};
use crate::domain::second_factors::{Factors, Proof, factors};
use crate::http::extract::Json;

/// The form's field for a code.
pub(super) const CODE: &str = "stepUpCode";

/// The form's field for a passkey's answer, which a script fills in.
pub(super) const ANSWER: &str = "stepUp";

/// What a form asks for besides.
#[derive(Clone, Debug)]
pub struct StepUp {
    found: Factors,
    /// Whether a passkey can be shown.
    pub has_passkey: bool,
    /// The code, when the account has an authenticator app.
    pub code: Option<Field>,
    /// Whether a passkey that was shown sends the form. It does not where the browser is asked for something else as well.
    pub sends: bool,
    /// Whether nothing else will do.
    pub is_only_way: bool,
}

impl StepUp {
    /// What the caller's account needs, and has.
    pub async fn of(app: &Context, caller: &LoginSession) -> Result<Self> {
        let found = factors::find(&mut app.db.read().await?, caller.account()).await?;
        let code = (found.authenticators > 0).then(|| Field::code(CODE, "Code of your authenticator app"));
        Ok(Self { found, has_passkey: found.passkeys > 0 && passkeys::is_configured(app), code, sends: true, is_only_way: true })
    }

    /// Whether the account has a second factor, one of which is to be shown.
    pub fn is_needed(&self) -> bool {
        self.found.are_on()
    }

    /// Whether there is just one second factor.
    pub fn is_last(&self) -> bool {
        self.found.passkeys + self.found.authenticators == 1
    }

    /// For a form that the browser fills in further, once a passkey was shown.
    #[must_use]
    pub fn before_another(self) -> Self {
        Self { sends: false, ..self }
    }

    /// For a form that has another way, which its page names.
    #[must_use]
    pub fn beside_another_way(self) -> Self {
        Self { is_only_way: false, ..self }
    }

    /// The same with another label of the code, where a form asks for two.
    #[must_use]
    pub fn labelled(self, label: &'static str) -> Self {
        Self { code: self.code.map(|code| Field { label, ..code }), ..self }
    }

    /// Says what was wrong: with the proof in the words of pages, with all else as [`Form::refuse`].
    pub fn refuse(&mut self, form: Form, sent: &Fields, error: Error) -> Result<Form> {
        if error.code() != Some(Code::StepUpRequired) {
            return form.refuse(error);
        }
        let mut is_code_wrong = false;
        let text = if !sent.text(ANSWER).is_empty() {
            "The passkey was not accepted. Show it once more."
        } else if sent.text(CODE).trim().is_empty() {
            "Show a second factor: this change needs it."
        } else {
            if let Some(code) = &mut self.code {
                code.error = Some("The code is wrong, or was used already. Wait for the next one.".to_owned());
                code.has_focus = true;
                is_code_wrong = true;
            }
            "Nothing was changed: the second factor was not accepted."
        };
        let form = form.refuse_saying(StatusCode::FORBIDDEN, text);
        Ok(if is_code_wrong { form.unfocused() } else { form })
    }
}

/// The proof in a form, if there is one.
pub fn proof(sent: &Fields) -> Option<Proof> {
    match (sent.text(ANSWER), sent.text(CODE).trim()) {
        ("", "") => None,
        ("", code) => Some(Proof::Totp(code.to_owned())),
        (text, _) => Some(Proof::Passkey(answer(text))),
    }
}

/// What a script put into a field: a passkey's answer. What is none, or names a member twice, is one that proves nothing.
pub(super) fn answer(text: &str) -> Answer {
    check_members(text.as_bytes()).and_then(|()| serde_json::from_str(text)).unwrap_or_default()
}

/// Says what was wrong with signing in by a passkey.
pub(super) fn refuse_passkey(form: Form, error: Error) -> Result<Form> {
    if !matches!(error, Error::WrongCredentials(_)) {
        return form.refuse(error);
    }
    let text = "The passkey was not accepted, or that took too long. Try again, or take another way.";
    Ok(form.refuse_saying(StatusCode::UNAUTHORIZED, text))
}

/// What a script is to ask the browser for; or why not, in words for the page.
pub(super) fn asked(asked: Result<impl Serialize>) -> Result<Response> {
    match asked {
        Ok(asked) => Ok(Json(asked).into_response()),
        // No failure, which browsers would note: the script sends the form, whose answer is the page that asks for a fresh proof.
        Err(error) if error.code() == Some(Code::ReauthRequired) => Ok(Json(json!({ "reauthenticate": true })).into_response()),
        Err(error) => {
            let status = error.status();
            let problem = Form::default().refuse(error)?.refusal;
            Ok((status, Json(json!({ "problem": problem }))).into_response())
        }
    }
}
