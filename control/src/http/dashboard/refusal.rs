//! What was refused outside of a form, as a page: not there, not allowed, too often, our fault.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::fields::Fields;
use super::flash::Flash;
use super::frame::Frame;
use super::view::{self, sentence, wait};
use super::{cli, cli_key};
use crate::domain::error::{Code, Result};
use crate::http::layer::problem::{FailureCause, ProblemText};

#[derive(Template)]
#[template(path = "dashboard/refusal.html")]
struct Refusal<'p> {
    frame: &'p Frame,
    status: u16,
    title: &'static str,
    text: String,
    action: Option<(&'static str, String)>,
}

/// The answer as a page when it is a refusal; whoever is not signed in (any more) is led to where that can be done.
/// `sent` is what the form holds that was sent; a request that only reads has none.
pub(super) fn as_page(frame: &Frame, mut answer: Response, sent: Option<&Fields>) -> Response {
    let Some(problem) = answer.extensions_mut().remove::<ProblemText>() else { return answer };
    if answer.status() == StatusCode::UNAUTHORIZED && answer.headers().contains_key(header::WWW_AUTHENTICATE) {
        return sign_in(frame, sent).unwrap_or_else(IntoResponse::into_response);
    }
    let is_read = sent.is_none();
    match page(frame, &answer, &problem, is_read) {
        Ok(mut page) => {
            // The log's line, and what the headers tell clients.
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

/// To the sign-in page, and back from there: to the page that was asked for, or to that of the form, for what was sent is not sent again by itself.
fn sign_in(frame: &Frame, sent: Option<&Fields>) -> Result<Response> {
    if frame.is_at("/sign-out") {
        return frame.redirect_saying("/sign-in", &Flash::good("You are signed out."));
    }
    let next = match sent {
        None => frame.site().next(frame.here()).map(str::to_owned),
        Some(sent) => way_back(frame, sent),
    };
    let next = next.filter(|next| *next != frame.path("/"));
    let response = frame.redirect_to(&frame.site().with_next("/sign-in", next.as_deref()))?;
    if sent.is_none() {
        return Ok(response);
    }
    frame.saying(response, &Flash::bad("You are not signed in any more. Sign in, and do it again."))
}

/// The last parts of the paths of pages that are only sent to, and cannot be opened.
const SENT_ONLY: [&str; 5] = ["end", "end-others", "sign-out", "options", "download"];

/// Where somebody without a second factor sets one up, and comes back from.
pub(super) fn set_up(frame: &Frame, next: Option<&str>) -> String {
    frame.site().with_next("/security/authenticator", next)
}

/// The page whose form this is, to be opened anew, with what leads back to what it is about.
pub(super) fn way_back(frame: &Frame, sent: &Fields) -> Option<String> {
    cli::way_back(frame, sent).or_else(|| cli_key::way_back(frame, sent)).or_else(|| again(frame))
}

/// The page whose form was refused, to be opened anew.
fn again(frame: &Frame) -> Option<String> {
    let page = frame.here().split('?').next().and_then(|path| frame.site().next(path))?;
    let is_shown = page.rsplit('/').next().is_some_and(|last| !SENT_ONLY.contains(&last));
    is_shown.then(|| page.to_owned())
}

fn page(frame: &Frame, answer: &Response, problem: &ProblemText, is_read: bool) -> Result<Response> {
    let status = answer.status();
    let title = match status {
        StatusCode::NOT_FOUND => "There is no such page",
        StatusCode::FORBIDDEN => "This is not allowed",
        StatusCode::TOO_MANY_REQUESTS => "Too much at once",
        StatusCode::METHOD_NOT_ALLOWED => "This page cannot be used like that",
        StatusCode::SERVICE_UNAVAILABLE => "Not available for the moment",
        status if status.is_server_error() => "Something went wrong here",
        _ => "This did not work",
    };
    let seconds = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|value| value.parse().ok());
    let mut text = match status {
        StatusCode::NOT_FOUND => "It may have moved, or what it was about is gone.".to_owned(),
        StatusCode::INTERNAL_SERVER_ERROR => {
            "This is our fault, and it was noted. Try again; if it stays, tell your administrator.".to_owned()
        }
        _ => sentence(&problem.text),
    };
    if let Some(seconds) = seconds {
        text = format!("{text} Try again in {}.", wait(seconds));
    }
    let action = match problem.code {
        Some(Code::MfaSetupRequired) => Some(("Set up a second factor", set_up(frame, again(frame).as_deref()))),
        Some(Code::ReauthRequired) => Some(("Sign in again", frame.path("/sign-in?again"))),
        None if status == StatusCode::FORBIDDEN && !is_read => again(frame).map(|page| ("Open the page again", page)),
        _ => None,
    };
    view::page_with(status, &Refusal { frame, status: status.as_u16(), title, text, action })
}
