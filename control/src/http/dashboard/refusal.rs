//! Error pages for refusals outside a form: not found, forbidden, rate limited, internal errors.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::fields::Fields;
use super::flash::Flash;
use super::frame::Frame;
use super::view::{self, sentence, wait};
use super::{apps, cli, cli_key, roles};
use crate::domain::error::{Error, Refusal, Result, Thing};
use crate::http::layer::problem::{FailureCause, ProblemText};

#[derive(Template)]
#[template(path = "dashboard/refusal.html")]
struct RefusalPage<'p> {
    frame: &'p Frame,
    status: u16,
    title: &'static str,
    text: String,
    /// Whether the address may name an app of the visitor's.
    is_app_known: bool,
    action: Option<(&'static str, String)>,
}

/// Renders a refusal as a page, and redirects a visitor who is not signed in to the sign-in page. Other responses stay as they are.
/// `sent` has the fields of a form; a request that only reads has none.
pub(super) fn as_page(frame: &Frame, mut answer: Response, sent: Option<&Fields>) -> Response {
    let Some(problem) = answer.extensions_mut().remove::<ProblemText>() else { return answer };
    if answer.status() == StatusCode::UNAUTHORIZED && answer.headers().contains_key(header::WWW_AUTHENTICATE) {
        return sign_in(frame, sent).unwrap_or_else(IntoResponse::into_response);
    }
    let is_read = sent.is_none();
    match page(frame, &answer, &problem, is_read) {
        Ok(mut page) => {
            // Keeps the cause for the log, and headers for clients.
            if let Some(cause) = answer.extensions_mut().remove::<FailureCause>() {
                page.extensions_mut().insert(cause);
            }
            for name in [header::RETRY_AFTER, header::ALLOW, header::CONNECTION] {
                if let Some(value) = answer.headers_mut().remove(&name) {
                    page.headers_mut().insert(name, value);
                }
            }
            page
        }
        Err(error) => error.into_response(),
    }
}

/// The pages that work without a session, with those below them.
const WITHOUT_SESSION: [&str; 6] = ["/design", "/forgot-password", "/reset-password", "/sign-in", "/sign-up", "/verify-email"];

/// Whether a page is for signed-in visitors only.
pub(super) fn needs_session(frame: &Frame) -> bool {
    !WITHOUT_SESSION.iter().any(|page| frame.is_at(page))
}

/// The answer to a form whose session expired while it was open: like that to one whose session was revoked. Nothing was changed.
pub(super) fn expired(frame: &Frame, sent: &Fields) -> Result<Response> {
    sign_in_and_say(frame, Some(sent), "Your session expired, and nothing was changed. Sign in and try again.")
}

/// Redirects to the sign-in page, and afterwards to the requested page or to the form's page: the form itself is not sent again.
fn sign_in(frame: &Frame, sent: Option<&Fields>) -> Result<Response> {
    sign_in_and_say(frame, sent, "You were signed out. Sign in and try again.")
}

fn sign_in_and_say(frame: &Frame, sent: Option<&Fields>, text: &str) -> Result<Response> {
    if frame.is_at("/sign-out") {
        return frame.redirect_with_flash("/sign-in", &Flash::good("You are signed out."));
    }
    let next = match sent {
        None => frame.site().next(frame.here()).map(str::to_owned),
        Some(sent) => return_page(frame, sent),
    };
    let next = next.filter(|next| *next != frame.site().path("/"));
    let response = frame.redirect_to(&frame.site().with_next("/sign-in", next.as_deref()))?;
    if sent.is_none() {
        return Ok(response);
    }
    frame.with_flash(response, &Flash::bad(text))
}

/// The last path segments of pages that only take forms and cannot be opened.
const POST_ONLY: [&str; 5] = ["end", "end-others", "sign-out", "options", "download"];

/// Where to set up a second factor, and return afterwards.
pub(super) fn set_up(frame: &Frame, next: Option<&str>) -> String {
    frame.site().with_next("/security/authenticator", next)
}

/// The form's page, to open again, with the query that leads back to its subject.
pub(super) fn return_page(frame: &Frame, sent: &Fields) -> Option<String> {
    cli::return_page(frame, sent).or_else(|| cli_key::return_page(frame, sent)).or_else(|| again(frame))
}

/// The page of a refused form, to open again.
fn again(frame: &Frame) -> Option<String> {
    let page = frame.here().split('?').next().and_then(|path| frame.site().next(path))?;
    let is_shown = page.rsplit('/').next().is_some_and(|last| !POST_ONLY.contains(&last));
    is_shown.then(|| page.to_owned())
}

fn page(frame: &Frame, answer: &Response, problem: &ProblemText, is_read: bool) -> Result<Response> {
    let status = answer.status();
    let title = match status {
        StatusCode::NOT_FOUND => "Page not found",
        StatusCode::FORBIDDEN => "Access denied",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Temporarily unavailable",
        status if status.is_server_error() => "Something went wrong",
        _ => "Request failed",
    };
    let is_app_missing = status == StatusCode::NOT_FOUND && problem.text == Error::NotFound(Thing::App).to_string();
    let seconds = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|value| value.parse().ok());
    let mut text = match status {
        StatusCode::NOT_FOUND if frame.here().contains("/account/apps/") => {
            "You have no access to this app. Its owner took it back, removed you or deleted it, or you left it.".to_owned()
        }
        StatusCode::NOT_FOUND => "It may have been moved or deleted.".to_owned(),
        StatusCode::INTERNAL_SERVER_ERROR => {
            "This is an error on our side, and it was logged. Try again. If it happens again, contact your administrator.".to_owned()
        }
        _ => problem.refusal.as_ref().map_or_else(|| sentence(&problem.text), roles::refused),
    };
    if let Some(seconds) = seconds {
        text = format!("{text} Try again in {}.", wait(seconds));
    }
    let action = match &problem.refusal {
        Some(Refusal::NoSecondFactor) => Some(("Set up two-factor authentication", set_up(frame, again(frame).as_deref()))),
        Some(Refusal::Permission(_)) => frame
            .app()
            .map(|app| ("See what each role can do", frame.site().path(&format!("{}/collaborators#roles", apps::place::app(&app))))),
        Some(Refusal::NotFresh | Refusal::LoginTooOld) => Some(("Sign in again", frame.site().path("/sign-in?again"))),
        Some(
            Refusal::NoChallenge
            | Refusal::NoChallengeAfterFailures
            | Refusal::NoDashboardSession
            | Refusal::NoStepUp
            | Refusal::StepUpCodesStopped,
        ) => None,
        _ if status == StatusCode::FORBIDDEN && !is_read => again(frame).map(|page| ("Open the page again", page)),
        _ => None,
    };
    let action = action.map(|(label, path)| (label, frame.link(&path)));
    view::page_with(status, &RefusalPage { frame, status: status.as_u16(), title, text, is_app_known: !is_app_missing, action })
}
