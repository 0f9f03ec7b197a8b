//! The second step of a sign-in: an authenticator code, a recovery code, or a passkey.
//!
//! The pending login is in a cookie of its own, never in a URL.

use askama::Template;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::cookies::Cookie;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::session::{self, BrowserState};
use super::sign_in::{SignInQuery, next_of};
use super::step_up;
use crate::domain::audit::ClientAddress;
use crate::domain::error::{Error, Result};
use crate::domain::login::{completion, pending};
use crate::domain::second_factors::{Factor, factors};
use crate::http::AppState;

#[derive(Template)]
#[template(path = "dashboard/second_factor.html")]
struct SecondFactor<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    methods: Methods,
    /// The address of the page with the other methods.
    other: String,
}

#[derive(Template)]
#[template(path = "dashboard/recovery_code.html")]
struct RecoveryCode<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    methods: Methods,
    /// The address of the page with the other methods.
    other: String,
}

/// The methods that can complete the login now.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the templates check each on its own")]
pub(super) struct Methods {
    /// A passkey.
    pub(super) has_passkey: bool,
    /// A code from an authenticator app.
    pub(super) has_totp: bool,
    /// A recovery code.
    pub(super) has_recovery: bool,
    /// Whether codes are refused only because of too many failures in a row.
    pub(super) are_codes_stopped: bool,
}

impl Methods {
    /// Whether there is any.
    pub(super) fn is_any(self) -> bool {
        self.has_passkey || self.has_totp || self.has_recovery
    }
}

/// The token of the pending login.
pub(super) struct Pending(pub(super) String);

impl FromRequestParts<AppState> for Pending {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let frame = Frame::from_request_parts(parts, app).await?;
        // Without one, the page says the same as for a login that has expired.
        Ok(Self(Cookie::Pending.read(frame.site(), &parts.headers).map(|value| value.0).unwrap_or_default()))
    }
}

impl Pending {
    /// The methods that can complete it; `None` when the login does not exist or has expired.
    pub(super) async fn methods(&self, app: &AppState) -> Result<Option<Methods>> {
        let mut tx = app.db.read().await?;
        let found = match pending::service::find(&mut tx, &self.0, app.now()).await {
            Err(Error::WrongCredentials(_)) => return Ok(None),
            found => found?,
        };
        let factors = factors::find(&mut tx, &found.account_id).await?;
        let available = factors.methods(app);
        let has = |factor: Factor| available.contains(&factor);
        Ok(Some(Methods {
            has_passkey: has(Factor::Passkey),
            has_totp: has(Factor::Totp),
            has_recovery: has(Factor::RecoveryCode),
            are_codes_stopped: factors.codes_are_stopped(),
        }))
    }
}

/// Redirects back to the first step.
fn expired(frame: &Frame, next: Option<&str>) -> Result<Response> {
    let response = frame.redirect_to(&frame.site().with_next("/sign-in", next))?;
    let response = frame.with_flash(response, &Flash::bad("This sign-in expired or had too many failed attempts. Sign in again."))?;
    Ok(session::with_cookies(response, [Cookie::Pending.end(frame.site())?]))
}

/// Redirects when there is no pending login. A signed-in visitor went back in the browser, and continues.
fn not_pending(frame: &Frame, next: Option<&str>) -> Result<Response> {
    if frame.visitor().is_none() {
        return expired(frame, next);
    }
    frame.redirect_to(next.unwrap_or(&frame.path("/")))
}

fn code_form() -> Form {
    Form::of([Field::code("code", "Authenticator code").focused()])
}

fn recovery_form() -> Form {
    let field = Field::text("code", "Recovery code").hint("Each code works once. Dashes and case do not matter.").focused();
    Form::of([field])
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, pending: Pending, query: SignInQuery) -> Result<Response> {
    let Some(methods) = pending.methods(&app).await? else { return not_pending(&frame, query.next.as_deref()) };
    code_page(&frame, &code_form(), query.next, methods)
}

fn code_page(frame: &Frame, form: &Form, next: Option<String>, methods: Methods) -> Result<Response> {
    let other = frame.site().with_next("/sign-in/recovery-code", next.as_deref());
    form.page(&SecondFactor { frame, form, next, methods, other })
}

fn recovery_page(frame: &Frame, form: &Form, next: Option<String>, methods: Methods) -> Result<Response> {
    let other = frame.site().with_next("/sign-in/second-factor", next.as_deref());
    form.page(&RecoveryCode { frame, form, next, methods, other })
}

/// The page again after a passkey was refused.
pub(super) async fn refused(app: &AppState, frame: &Frame, pending: &Pending, next: Option<String>, error: Error) -> Result<Response> {
    // An internal error is reported even if the login has expired meanwhile.
    let form = step_up::refuse_passkey(code_form(), error)?;
    let Some(methods) = pending.methods(app).await? else { return expired(frame, next.as_deref()) };
    code_page(frame, &form, next, methods)
}

pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    browser: BrowserState,
    pending: Pending,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    // Apps show a code in two halves, and users type the space.
    let code: String = sent.text("code").split_whitespace().collect();
    match completion::by_totp(&app, from, &pending.0, &code).await {
        Ok(logged_in) => session::begin(&app, &frame, browser, &logged_in, next.as_deref()).await,
        Err(error) => {
            let form = refuse(code_form(), error, "The code is incorrect or was already used. Wait for the next one.")?;
            let Some(methods) = pending.methods(&app).await? else { return expired(&frame, next.as_deref()) };
            code_page(&frame, &form, next, methods)
        }
    }
}

pub(super) async fn show_recovery(State(app): State<AppState>, frame: Frame, pending: Pending, query: SignInQuery) -> Result<Response> {
    let Some(methods) = pending.methods(&app).await? else { return not_pending(&frame, query.next.as_deref()) };
    recovery_page(&frame, &recovery_form(), query.next, methods)
}

pub(super) async fn submit_recovery(
    State(app): State<AppState>,
    frame: Frame,
    browser: BrowserState,
    pending: Pending,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    match completion::by_recovery_code(&app, from, &pending.0, sent.text("code").trim()).await {
        Ok((logged_in, remaining)) => {
            let response = session::begin(&app, &frame, browser, &logged_in, next.as_deref()).await?;
            let codes = if remaining == 1 { "1 recovery code".to_owned() } else { format!("{remaining} recovery codes") };
            frame.with_flash(
                response,
                &Flash::good(format!(
                    "You are signed in. You have {codes} left. To create new ones, you need your passkey or authenticator app."
                )),
            )
        }
        Err(error) => {
            let form = refuse(recovery_form(), error, "The recovery code is incorrect or was already used.")?;
            let Some(methods) = pending.methods(&app).await? else { return expired(&frame, next.as_deref()) };
            recovery_page(&frame, &form, next, methods)
        }
    }
}

/// The login is still pending, so a refused credential means that the code was wrong.
fn refuse(form: Form, error: Error, wrong: &'static str) -> Result<Form> {
    match error {
        Error::WrongCredentials(_) => Ok(form.refuse_field(StatusCode::UNAUTHORIZED, wrong, "You are not signed in yet.")),
        error => form.refuse(error),
    }
}
