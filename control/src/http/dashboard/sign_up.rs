//! Signing up: the form, the email, and the page that the email links to.

use std::borrow::Cow;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use shared::Invalid;
use shared::text::isolate;

use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::headers::Needs;
use super::sign_in::{SignInQuery, next_of};
use crate::domain::accounts::service::validate_name;
use crate::domain::audit::ClientAddress;
use crate::domain::email::Email;
use crate::domain::error::{Error, Result};
use crate::domain::login::service::validate_challenge_token;
use crate::domain::registration::MailedToken;
use crate::domain::registration::confirm::{self, Confirmation, Waiting};
use crate::domain::registration::service::{self, NewRegistration};
use crate::http::AppState;
use crate::infra::dates::{RelativeTime, second};

#[derive(Template)]
#[template(path = "dashboard/sign_up.html")]
struct SignUp<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    has_challenge: bool,
}

#[derive(Template)]
#[template(path = "dashboard/sign_up_sent.html")]
struct Sent<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    /// Whether the visitor asks for another email, and none was sent yet.
    is_again: bool,
}

#[derive(Template)]
#[template(path = "dashboard/verify_email.html")]
struct Verify<'p> {
    frame: &'p Frame,
    form: &'p Form,
}

fn sign_up_form(sent: &Fields) -> Form {
    Form::of([
        Field::text("name", "Name")
            .value(sent.text("name"))
            .autocomplete("name")
            .hint("Only you see it. You can change it later.")
            .optional(),
        Field::email("email", "Email address").value(sent.text("email")),
        Field::new_password("password", "Password"),
    ])
}

/// A field's text. Errors: the form does not have it.
pub(super) fn needed<'s>(sent: &'s Fields, name: &str) -> Result<&'s str, Invalid> {
    sent.get(name).ok_or(Invalid::from("is required"))
}

/// A field's trimmed text; `None` when it is empty.
pub(super) fn filled<'s>(sent: &'s Fields, name: &str) -> Option<&'s str> {
    sent.get(name).map(str::trim).filter(|text| !text.is_empty())
}

/// The token of the human-verification challenge in a form.
pub(super) fn challenge_token(sent: &Fields) -> Result<Option<String>, Invalid> {
    validate_challenge_token(filled(sent, "challengeToken").map(str::to_owned))
}

/// Whether a form that needs no session shows the challenge. Its script is a third party's, so for signed-in visitors it runs only when it is required.
pub(super) fn has_challenge(frame: &Frame, sent: &Fields, error: Option<&Error>) -> bool {
    let is_required = error.is_some_and(Error::asks_for_challenge);
    frame.visitor().is_none() || is_required || sent.has("challengeToken")
}

/// Allows the challenge on a page, if the form has one and one is configured.
pub(super) fn with_challenge(frame: &Frame, page: Response, has_challenge: bool) -> Response {
    match frame.site().widget().filter(|_| has_challenge) {
        Some(widget) => Needs { challenge: Some(widget.origin.clone()), ..Needs::default() }.put(page),
        None => page,
    }
}

/// Shows a refusal; for a missing challenge it says what to do.
pub(super) fn refuse_challenged(form: Form, error: Error) -> Result<Form> {
    if !error.asks_for_challenge() {
        return form.refuse(error);
    }
    let text = "Confirm that you are human: complete the challenge above the button, and submit the form again.";
    Ok(form.refuse_with_text(StatusCode::FORBIDDEN, text))
}

pub(super) async fn show(frame: Frame, SignInQuery { next, .. }: SignInQuery) -> Result<Response> {
    let sent = Fields::default();
    let (form, has_challenge) = (sign_up_form(&sent), has_challenge(&frame, &sent, None));
    Ok(with_challenge(&frame, form.page(&SignUp { frame: &frame, form: &form, next, has_challenge })?, has_challenge))
}

pub(super) async fn submit(State(app): State<AppState>, frame: Frame, from: ClientAddress, sent: Fields) -> Result<Response> {
    let next = next_of(&frame, &sent);
    let new = NewRegistration {
        email: needed(&sent, "email").and_then(Email::parse_new),
        name: filled(&sent, "name").map(|name| validate_name(name).map(Cow::into_owned)).transpose(),
        password: needed(&sent, "password").map(str::to_owned),
        challenge_token: challenge_token(&sent),
    };
    match service::register(&app, from, new).await {
        Ok(()) => {
            // Whether or not the address has an account, an email was sent.
            let email = sent.text("email").trim();
            let response = frame.redirect_to(&frame.site().with_next("/sign-up/sent", next.as_deref()))?;
            frame.with_flash(response, &Flash::good(format!("We sent an email to {}.", isolate(email))).with_address(email))
        }
        Err(error) => {
            let has_challenge = has_challenge(&frame, &sent, Some(&error));
            let form = refuse_challenged(sign_up_form(&sent), error)?;
            Ok(with_challenge(&frame, form.page(&SignUp { frame: &frame, form: &form, next, has_challenge })?, has_challenge))
        }
    }
}

fn sent_form(address: &str) -> Form {
    Form::of([Field::email("email", "Email address").value(address)])
}

pub(super) async fn show_sent(frame: Frame, SignInQuery { next, is_again, .. }: SignInQuery) -> Result<Response> {
    let form = sent_form(frame.flash().and_then(|flash| flash.address.as_deref()).unwrap_or_default());
    form.page(&Sent { frame: &frame, form: &form, next, is_again })
}

pub(super) async fn send_again(State(app): State<AppState>, frame: Frame, from: ClientAddress, sent: Fields) -> Result<Response> {
    let next = next_of(&frame, &sent);
    match service::resend(&app, from, needed(&sent, "email").and_then(str::parse)).await {
        Ok(()) => {
            let text = "If this address has a pending sign-up, we sent another email. Only the link in the latest email works.";
            let response = frame.redirect_to(&frame.site().with_next("/sign-up/sent", next.as_deref()))?;
            frame.with_flash(response, &Flash::good(text).with_address(sent.text("email").trim()))
        }
        Err(error) => {
            let form = sent_form(sent.text("email")).refuse(error)?;
            form.page(&Sent { frame: &frame, form: &form, next, is_again: sent.has("again") })
        }
    }
}

/// The second step of the confirmation: the pending registration, and the password.
#[derive(Template)]
#[template(path = "dashboard/verify_email_password.html")]
struct Confirm<'p> {
    frame: &'p Frame,
    form: &'p Form,
    waiting: &'p Waiting,
    registered: RelativeTime,
    token: &'p str,
    /// Whether the password differs from the registered one, and may replace it.
    is_other: bool,
}

/// The token of an email, from a form.
pub(super) fn token_of(sent: &Fields) -> Result<MailedToken, Invalid> {
    filled(sent, "token").ok_or(Invalid::from("is required")).and_then(str::parse)
}

/// The field for the token of an email, filled in from the link by a script, or by hand.
pub(super) fn token_field(sent: &Fields) -> Field {
    let hint = "The part after #token= in the link in the email. Filled in automatically if your browser runs JavaScript.";
    Field::text("token", "Token").value(sent.text("token")).hint(hint).class("token")
}

/// Replaces the error of a token with one for a visitor who only followed a link; `help` is what to do.
pub(super) fn say_token(form: Form, help: &str) -> Form {
    form.in_words("token", &format!("This link is invalid, expired or already used. {help}."))
}

fn verify_form(sent: &Fields) -> Form {
    Form::of([token_field(sent)])
}

pub(super) async fn show_verify(frame: Frame) -> Result<Response> {
    let form = verify_form(&Fields::default());
    form.page(&Verify { frame: &frame, form: &form })
}

/// The first submission has only the token; the second has the password as well.
pub(super) async fn verify(State(app): State<AppState>, frame: Frame, from: ClientAddress, sent: Fields) -> Result<Response> {
    let token = token_of(&sent);
    let refused = |error: Error| {
        let form = say_token(verify_form(&sent).refuse(error)?, "Request a new email");
        form.page(&Verify { frame: &frame, form: &form })
    };
    let ask = |form: &Form, waiting: &Waiting, is_other: bool| {
        let registered = RelativeTime { exact: second(waiting.time), ..RelativeTime::of(waiting.time, app.now()) };
        form.page(&Confirm { frame: &frame, form, waiting, registered, token: sent.text("token").trim(), is_other })
    };
    if !sent.has("password") {
        return match confirm::look_up(&app, from, token).await {
            Ok(waiting) => ask(&password_form(), &waiting, false),
            Err(error) => refused(error),
        };
    }
    let replaces = sent.has("replacePassword");
    let password = sent.text("password").parse().map(Some);
    let error = match confirm::verify(&app, from, Confirmation { token: token.clone(), password, replaces: Ok(replaces) }).await {
        Ok(()) => {
            let text = "Your email address is confirmed and your account was created. Sign in.";
            // Filled in on the next page. Only the account's own password works there.
            let flash = Flash::good(text).with_address(sent.text("username").trim());
            return frame.redirect_with_flash("/sign-in?other", &flash);
        }
        Err(error) => error,
    };
    // A rate-limited visitor starts again later, and an expired token has nothing to show.
    let waiting = match (&error, &token) {
        (Error::TooMany { .. }, _) | (_, Err(_)) => return refused(error),
        (_, Ok(token)) => match confirm::waiting(&app, token).await {
            Ok(waiting) => waiting,
            Err(_) => return refused(error),
        },
    };
    if let Error::Conflict(_) = error {
        let text = "This is not the password that you signed up with. Try again, or enter it again and choose “Use this password instead”.";
        return ask(&password_form().refuse_with_text(StatusCode::CONFLICT, text), &waiting, true);
    }
    ask(&password_form().refuse(error)?, &waiting, replaces)
}

fn password_form() -> Form {
    Form::of([Field::password("password", "Password").hint("The password that you signed up with.").focused()])
}
