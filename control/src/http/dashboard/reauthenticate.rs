//! Fresh proofs for forms: one that its session is too old for is not lost. Its answer asks for the password or a second factor, holds what was typed, and
//! is sent to the same page, which goes on.
//!
//! Nothing travels in an address, and the page asks for nothing but what it was sent itself: what comes from elsewhere never gets here ([`super::csrf`]).
//! A handler needs to do nothing for it but give the refusal back.

use askama::Template;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use shared::FieldErrors;

use super::fields::Fields;
use super::form::{Field, Form};
use super::frame::Frame;
use super::step_up::{self, StepUp};
use super::{csrf, refusal, view};
use crate::domain::access::{DashboardSession, LoginSession, SignedIn};
use crate::domain::error::{Code, Error, Result};
use crate::domain::login::fresh::{self, Reauthentication, judge_password};
use crate::http::AppState;
use crate::http::layer::problem::ProblemText;

/// The form's field by which a form is the answer to the page.
const MARK: &str = "reauthenticate";

/// The form's field for the password: the same as the member of the interface.
const PASSWORD: &str = "password";

/// What the page never holds: what it asks for itself, passwords, and what a browser made of a passkey.
const NOT_KEPT: &[&str] = &[csrf::FIELD, MARK, PASSWORD, "currentPassword", "username", "response", step_up::CODE, step_up::ANSWER];

/// Whether a form has come by the page, with the proof that was asked for.
pub(super) fn is_answer(sent: &Fields) -> bool {
    sent.has(MARK)
}

#[derive(Template)]
#[template(path = "dashboard/reauthenticate.html")]
struct Ask<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    email: &'p str,
    /// Where it is sent: where the form was sent.
    page: &'p str,
    /// What is to go on.
    purpose: &'static str,
    /// What was typed.
    kept: Vec<(&'p str, &'p str)>,
    /// The page of the form.
    back: String,
    /// Where somebody signs in who cannot give the proof.
    sign_in: String,
}

/// Runs the handler of a page. A form that has a proof makes its session fresh first; one that its session is too old for is answered with the page.
pub(super) async fn run(
    app: &AppState,
    frame: &Frame,
    caller: Option<&SignedIn>,
    sent: Option<&Fields>,
    request: Request,
    next: Next,
) -> Response {
    let session = caller.and_then(LoginSession::of).and_then(|login| DashboardSession::of(&login).ok());
    let (Some(session), Some(sent)) = (session, sent) else { return next.run(request).await };
    if is_answer(sent) {
        match settle(app, frame, &session, sent).await {
            Ok(None) => {}
            Ok(Some(page)) => return page,
            Err(error) => return error.into_response(),
        }
    }
    let answer = next.run(request).await;
    let is_too_old = answer.extensions().get::<ProblemText>().is_some_and(|problem| problem.code == Some(Code::ReauthRequired));
    if !is_too_old {
        return answer;
    }
    match StepUp::of(app, &session).await {
        Ok(step_up) => page(frame, &session, sent, &password_form(), &step_up.beside_another_way(), Some(StatusCode::FORBIDDEN)),
        Err(error) => Err(error),
    }
    .unwrap_or_else(IntoResponse::into_response)
}

fn password_form() -> Form {
    Form::of([Field::password(PASSWORD, "Your password").focused()])
}

/// Makes the session fresh; or the page again, which says what was wrong.
async fn settle(app: &AppState, frame: &Frame, session: &DashboardSession, sent: &Fields) -> Result<Option<Response>> {
    let password = sent.get(PASSWORD).map(|text| judge_password(text.to_owned())).transpose();
    let again = password.map(|password| Reauthentication { password, proof: step_up::proof(sent) });
    let again = again.map_err(|error| FieldErrors::of(PASSWORD, error));
    let Err(error) = fresh::reauthenticate(app, session, again).await else { return Ok(None) };
    let mut step_up = StepUp::of(app, session).await?.beside_another_way();
    let form = match error {
        Error::WrongCredentials(_) => {
            password_form().refuse_field(StatusCode::UNAUTHORIZED, "The password is wrong.", "Nothing was done yet.")
        }
        error => step_up.refuse(password_form(), sent, error)?,
    };
    page(frame, session, sent, &form, &step_up, None).map(Some)
}

/// The page; with `status` unless its form was refused, which has one.
fn page(
    frame: &Frame,
    session: &DashboardSession,
    sent: &Fields,
    form: &Form,
    step_up: &StepUp,
    status: Option<StatusCode>,
) -> Result<Response> {
    let page = frame.here().split('?').next().unwrap_or_default();
    let back = refusal::way_back(frame, sent);
    let sign_in = frame.site().with_next("/sign-in?again", back.as_deref());
    let ask = Ask {
        frame,
        form,
        step_up,
        email: session.email(),
        page,
        purpose: purpose(frame),
        kept: sent.without(NOT_KEPT),
        back: back.unwrap_or_else(|| frame.path("/")),
        sign_in,
    };
    match status {
        Some(status) => view::page_with(status, &ask),
        None => form.page(&ask),
    }
}

/// What a form is for, as the page says it.
fn purpose(frame: &Frame) -> &'static str {
    const PURPOSES: &[(&str, &str)] = &[
        ("/keys/new", "create the access key"),
        ("/cli/key", "create the access key"),
        ("/keys/access", "let the access key work for longer"),
        ("/keys/api/new", "create the API key"),
        ("/keys/api", "give the API key more scopes or more time"),
        ("/cli/authorize", "authorize the CLI"),
        ("/security", "set up two-factor authentication"),
    ];
    PURPOSES.iter().find(|(page, _)| frame.is_at(page)).map_or("go on", |(_, purpose)| purpose)
}
