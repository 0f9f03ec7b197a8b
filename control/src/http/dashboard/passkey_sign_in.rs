//! Signing in with a passkey: instead of a password, or as the second step.
//!
//! A script asks the browser for the passkey and submits the answer through the page's own form, so that a refusal shows the page again.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::fields::Fields;
use super::frame::Frame;
use super::second_factor::{self, Pending};
use super::session::{self, BrowserState};
use super::sign_in::{self, SignInQuery, next_of};
use super::step_up;
use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::login::passkeys::service;
use crate::http::AppState;

/// Returns the options for a passkey, to any visitor.
pub(super) async fn options(State(app): State<AppState>, from: ClientAddress) -> Result<Response> {
    let challenge = service::ask_anybody(&app, from).await;
    step_up::options_response(challenge.map(|asked| json!({ "challengeId": asked.challenge_id, "options": asked.options })))
}

/// A refusal is shown at the address that the form was sent to, so opening that address redirects to the page with the form.
pub(super) async fn show(frame: Frame, query: SignInQuery) -> Result<Response> {
    frame.redirect_to(&frame.site().with_next("/sign-in", query.next.as_deref()))
}

/// The same for the second step.
pub(super) async fn show_pending(frame: Frame, query: SignInQuery) -> Result<Response> {
    frame.redirect_to(&frame.site().with_next("/sign-in/second-factor", query.next.as_deref()))
}

pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    browser: BrowserState,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    let answer = step_up::answer(sent.text("response"));
    match service::sign_in(&app, from, sent.text("challengeId"), &answer, &browser.device).await {
        Ok(logged_in) => session::begin(&app, &frame, browser, &logged_in, next.as_deref()).await,
        Err(error) => sign_in::refused(&frame, &browser, next, error),
    }
}

/// Returns the options for one of the account's passkeys, after the right password.
pub(super) async fn pending_options(State(app): State<AppState>, from: ClientAddress, pending: Pending) -> Result<Response> {
    let options = service::ask_pending(&app, from, &pending.0).await;
    step_up::options_response(options.map(|options| json!({ "options": options })))
}

pub(super) async fn complete(
    State(app): State<AppState>,
    frame: Frame,
    browser: BrowserState,
    pending: Pending,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    let answer = step_up::answer(sent.text("response"));
    match service::complete_pending(&app, from, &pending.0, &answer).await {
        Ok(logged_in) => session::begin(&app, &frame, browser, &logged_in, next.as_deref()).await,
        Err(error) => second_factor::refused(&app, &frame, &pending, next, error).await,
    }
}
