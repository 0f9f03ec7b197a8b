//! Signing in with an email address and a password, and signing out.

use askama::Template;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;

use super::cookies::Cookie;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::session::{self, BrowserState};
use super::sign_up::{challenge_token, needed, refuse_challenged, with_challenge};
use super::step_up;
use crate::domain::access::DashboardSession;
use crate::domain::audit::ClientAddress;
use crate::domain::error::{Error, Refusal, Result};
use crate::domain::keys::sessions;
use crate::domain::login::service::{self, Login, Outcome};
use crate::http::AppState;
use crate::http::extract::query::parameter;

#[derive(Template)]
#[template(path = "dashboard/sign_in.html")]
#[expect(clippy::struct_excessive_bools, reason = "what a template shows")]
struct SignIn<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    is_again: bool,
    has_challenge: bool,
    /// Whether the password was right but the address is not confirmed yet.
    is_unconfirmed: bool,
    /// Whether it offers passkeys.
    has_passkeys: bool,
}

/// The query of a sign-in page.
#[derive(Clone, Debug)]
pub(super) struct SignInQuery {
    /// Where to go afterwards; an address of ours.
    pub(super) next: Option<String>,
    /// Whether a signed-in user signs in again.
    pub(super) is_again: bool,
    /// Whether that may be another user.
    is_other: bool,
}

impl FromRequestParts<AppState> for SignInQuery {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let frame = Frame::from_request_parts(parts, app).await?;
        let query = parts.uri.query().unwrap_or_default();
        let next = parameter(query, "next")?;
        let has = |name: &str| form_urlencoded::parse(query.as_bytes()).any(|(given, _)| given == name);
        let is_other = has("other");
        Ok(Self { next: next.and_then(|next| frame.site().next(&next).map(str::to_owned)), is_again: is_other || has("again"), is_other })
    }
}

/// The page to go to afterwards, from a form.
pub(super) fn next_of(frame: &Frame, sent: &Fields) -> Option<String> {
    sent.get("next").and_then(|next| frame.site().next(next)).map(str::to_owned)
}

impl<'p> SignIn<'p> {
    fn new(frame: &'p Frame, form: &'p Form, next: Option<String>) -> Self {
        Self { frame, form, next, is_again: false, has_challenge: false, is_unconfirmed: false, has_passkeys: true }
    }
}

fn sign_in_form(email: &str) -> Form {
    let password = Field::password("password", "Password");
    Form::of([Field::email("email", "Email address").value(email), if email.is_empty() { password } else { password.focused() }])
}

pub(super) async fn show(frame: Frame, SignInQuery { next, is_again, is_other }: SignInQuery) -> Result<Response> {
    if frame.visitor().is_some() && !is_again {
        return frame.redirect_to(next.as_deref().unwrap_or(&frame.path("/")));
    }
    // A visitor who comes from an email may have another account than this browser's session.
    let again = frame.visitor().map(|visitor| visitor.email.as_str()).filter(|_| !is_other);
    // An account that was just created has no passkey yet.
    let new = frame.flash().and_then(|flash| flash.address.as_deref());
    let form = sign_in_form(again.or(new).unwrap_or_default());
    form.page(&SignIn { is_again: again.is_some(), has_passkeys: new.is_none(), ..SignIn::new(&frame, &form, next) })
}

/// The page again after a passkey was refused.
pub(super) fn refused(frame: &Frame, browser: &BrowserState, next: Option<String>, error: Error) -> Result<Response> {
    let form = step_up::refuse_passkey(sign_in_form(""), error)?;
    form.page(&SignIn { is_again: browser.session.is_some(), ..SignIn::new(frame, &form, next) })
}

pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    browser: BrowserState,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    let login = Login {
        email: needed(&sent, "email").and_then(str::parse),
        password: needed(&sent, "password").and_then(str::parse),
        challenge_token: challenge_token(&sent),
        device: browser.device.clone(),
    };
    match service::log_in(&app, from, login).await {
        Ok(Outcome::LoggedIn(logged_in)) => session::begin(&app, &frame, browser, &logged_in, next.as_deref()).await,
        Ok(Outcome::Pending(pending, _)) => {
            let seconds = (pending.expires.0 - app.now().0) / 1_000;
            let cookie = Cookie::Pending.set(frame.site(), pending.token.reveal(), Some(seconds))?;
            let page = frame.site().with_next("/sign-in/second-factor", next.as_deref());
            Ok(session::with_cookies(frame.redirect_to(&page)?, [cookie]))
        }
        Err(error) => {
            let has_challenge = error.asks_for_challenge() || sent.has("challengeToken");
            let is_unconfirmed = matches!(error, Error::Refused(Refusal::NotVerified));
            let form = refuse_challenged(sign_in_form(sent.text("email")), error)?;
            let is_again = browser.session.is_some();
            let page = form.page(&SignIn { is_again, has_challenge, is_unconfirmed, ..SignIn::new(&frame, &form, next) })?;
            Ok(with_challenge(&frame, page, has_challenge))
        }
    }
}

pub(super) async fn sign_out(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    sessions::end_current(&app, &session).await?;
    session::end(&frame, frame.redirect_with_flash("/sign-in", &Flash::good("You are signed out."))?)
}
