//! Reauthentication: a form whose session is not fresh enough is not lost. The response asks for the password or a second factor, keeps the form's input,
//! and submits it to the same page, which then continues.
//!
//! Nothing is passed in a URL. The page holds only what was sent to it, and requests from elsewhere never get here ([`super::csrf`]). A handler only has to
//! return the refusal.

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
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::login::fresh::{self, Reauthentication};
use crate::http::AppState;
use crate::http::layer::problem::ProblemText;

/// The form field that marks a form as submitted from this page.
const MARK: &str = "reauthenticate";

/// The form field for the password, named like the API's member.
const PASSWORD: &str = "password";

/// Fields that the page never keeps: those it asks for itself, passwords, and passkey answers.
const NOT_KEPT: &[&str] = &[csrf::FIELD, MARK, PASSWORD, "currentPassword", "username", "response", step_up::CODE, step_up::ANSWER];

/// Whether a form was submitted from this page, with the proof.
pub(super) fn is_answer(sent: &Fields) -> bool {
    sent.has(MARK)
}

#[derive(Template)]
#[template(path = "dashboard/reauthenticate.html")]
struct Reauthenticate<'p> {
    frame: &'p Frame,
    form: &'p Form,
    step_up: &'p StepUp,
    email: &'p str,
    /// Where the form is sent: to its original page.
    page: &'p str,
    /// What continues afterwards.
    purpose: &'static str,
    /// The form's input.
    kept: Vec<(&'p str, &'p str)>,
    /// The form's page.
    back: String,
    /// Where a user who cannot give the proof signs in.
    sign_in: String,
}

/// Runs a page's handler. A form with a proof makes its session fresh first. A form whose session is not fresh gets this page as its response.
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
    let refusal = answer.extensions().get::<ProblemText>().and_then(|problem| problem.refusal.as_ref());
    let is_too_old = matches!(refusal, Some(Refusal::NotFresh | Refusal::LoginTooOld));
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

/// Makes the session fresh, or shows the page again with the error.
async fn settle(app: &AppState, frame: &Frame, session: &DashboardSession, sent: &Fields) -> Result<Option<Response>> {
    let password = sent.get(PASSWORD).map(str::parse).transpose();
    let again = password.map(|password| Reauthentication { password, proof: step_up::proof(sent) });
    let again = again.map_err(|error| FieldErrors::of(PASSWORD, error));
    let Err(error) = fresh::reauthenticate(app, session, again).await else { return Ok(None) };
    let mut step_up = StepUp::of(app, session).await?.beside_another_way();
    let form = match error {
        Error::WrongCredentials(_) => {
            password_form().refuse_field(StatusCode::UNAUTHORIZED, "The password is incorrect.", "No changes were made.")
        }
        error => step_up.refuse(password_form(), sent, error)?,
    };
    page(frame, session, sent, &form, &step_up, None).map(Some)
}

/// The page, with `status`, or with the status of its refused form.
fn page(
    frame: &Frame,
    session: &DashboardSession,
    sent: &Fields,
    form: &Form,
    step_up: &StepUp,
    status: Option<StatusCode>,
) -> Result<Response> {
    let page = frame.here().split('?').next().unwrap_or_default();
    let back = refusal::return_page(frame, sent);
    let sign_in = frame.site().with_next("/sign-in?again", back.as_deref());
    let template = Reauthenticate {
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
        Some(status) => view::page_with(status, &template),
        None => form.page(&template),
    }
}

/// What a form is for, in the page's words.
fn purpose(frame: &Frame) -> &'static str {
    const PURPOSES: &[(&str, &str)] = &[
        ("/keys/new", "create the access key"),
        ("/cli/key", "create the access key"),
        ("/keys/access", "extend the access key"),
        ("/keys/api/new", "create the API key"),
        ("/keys/api", "extend the API key or add scopes"),
        ("/cli/authorize", "authorize the CLI"),
        ("/security", "set up two-factor authentication"),
    ];
    PURPOSES.iter().find(|(page, _)| frame.is_at(page)).map_or("continue", |(_, purpose)| purpose)
}
