//! Resetting a forgotten password: the form, and the page that the email links to.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::sign_in::{SignInQuery, next_of};
use super::sign_up::{challenge_token, has_challenge, needed, refuse_challenged, say_token, token_field, token_of, with_challenge};
use super::view;
use crate::domain::audit::ClientAddress;
use crate::domain::error::Result;
use crate::domain::mail::NewPassword;
use crate::domain::password_reset::service::{self, Reset};
use crate::http::AppState;

#[derive(Template)]
#[template(path = "dashboard/forgot_password.html")]
struct Forgot<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    has_challenge: bool,
}

#[derive(Template)]
#[template(path = "dashboard/reset_password.html")]
struct ResetPassword<'p> {
    frame: &'p Frame,
    form: &'p Form,
    /// Whether the checkbox is checked.
    revokes_keys: bool,
}

/// The keys and second factors that still work after the reset.
#[derive(Template)]
#[template(path = "dashboard/reset_password_done.html")]
struct Done<'p> {
    frame: &'p Frame,
    kept: &'p NewPassword,
}

fn forgot_form(sent: &Fields) -> Form {
    Form::of([Field::email("email", "Email address").value(sent.text("email"))])
}

pub(super) async fn show_forgotten(frame: Frame, SignInQuery { next, .. }: SignInQuery) -> Result<Response> {
    let sent = Fields::default();
    let (form, has_challenge) = (forgot_form(&sent), has_challenge(&frame, &sent, None));
    Ok(with_challenge(&frame, form.page(&Forgot { frame: &frame, form: &form, next, has_challenge })?, has_challenge))
}

pub(super) async fn forget(State(app): State<AppState>, frame: Frame, from: ClientAddress, sent: Fields) -> Result<Response> {
    let next = next_of(&frame, &sent);
    let email = needed(&sent, "email").and_then(str::parse);
    match service::forgot(&app, from, email, challenge_token(&sent)).await {
        Ok(()) => {
            let text = "If this address has an account, we sent an email. Open its link to choose a new password.";
            let response = frame.redirect_to(&frame.site().with_next("/sign-in?again", next.as_deref()))?;
            frame.with_flash(response, &Flash::good(text))
        }
        Err(error) => {
            let has_challenge = has_challenge(&frame, &sent, Some(&error));
            let form = refuse_challenged(forgot_form(&sent), error)?;
            Ok(with_challenge(&frame, form.page(&Forgot { frame: &frame, form: &form, next, has_challenge })?, has_challenge))
        }
    }
}

fn reset_form(sent: &Fields) -> Form {
    Form::of([token_field(sent), Field::new_password("password", "New password")])
}

pub(super) async fn show_reset(frame: Frame) -> Result<Response> {
    let form = reset_form(&Fields::default());
    form.page(&ResetPassword { frame: &frame, form: &form, revokes_keys: false })
}

pub(super) async fn reset(State(app): State<AppState>, frame: Frame, from: ClientAddress, sent: Fields) -> Result<Response> {
    let revokes_keys = sent.has("revokeKeys");
    let (token, password) = (token_of(&sent), needed(&sent, "password").map(str::to_owned));
    match service::reset(&app, from, Reset { token, password, revokes_keys: Ok(revokes_keys) }).await {
        Ok(kept) => view::page(&Done { frame: &frame, kept: &kept }),
        Err(error) => {
            let form = say_token(reset_form(&sent).refuse(error)?, "Request a new email");
            form.page(&ResetPassword { frame: &frame, form: &form, revokes_keys })
        }
    }
}
