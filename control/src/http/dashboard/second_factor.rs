//! The second step of a sign-in: a code of the authenticator app, a recovery code, or a passkey.
//!
//! The login that waits for it lives in a cookie of its own, never in an address.

use askama::Template;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::cookies::Cookie;
use super::fields::Fields;
use super::flash::Flash;
use super::form::{Field, Form};
use super::frame::Frame;
use super::session::{self, Before};
use super::sign_in::{Asked, next_of};
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
    ways: Ways,
    /// The address of the page with the other ways.
    other: String,
}

#[derive(Template)]
#[template(path = "dashboard/recovery_code.html")]
struct RecoveryCode<'p> {
    frame: &'p Frame,
    form: &'p Form,
    next: Option<String>,
    ways: Ways,
    /// The address of the page with the other ways.
    other: String,
}

/// By what the login can be completed now.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself, in the templates")]
pub(super) struct Ways {
    /// A passkey.
    pub(super) has_passkey: bool,
    /// A code of an authenticator app.
    pub(super) has_totp: bool,
    /// A recovery code.
    pub(super) has_recovery: bool,
    /// Whether codes would be taken but for too many failures in a row.
    pub(super) are_codes_stopped: bool,
}

impl Ways {
    /// Whether there is one.
    pub(super) fn is_any(self) -> bool {
        self.has_passkey || self.has_totp || self.has_recovery
    }
}

/// The token of the login that waits.
pub(super) struct Pending(pub(super) String);

impl FromRequestParts<AppState> for Pending {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let frame = Frame::from_request_parts(parts, app).await?;
        // Without one, the page says what it says of one that has ended.
        Ok(Self(Cookie::Pending.read(frame.site(), &parts.headers).map(|value| value.0).unwrap_or_default()))
    }
}

impl Pending {
    /// By what it can be completed, or nothing when there is no such login (any more).
    pub(super) async fn ways(&self, app: &AppState) -> Result<Option<Ways>> {
        let mut tx = app.db.read().await?;
        let found = match pending::service::find(&mut tx, &self.0, app.now()).await {
            Err(Error::WrongCredentials(_)) => return Ok(None),
            found => found?,
        };
        let factors = factors::find(&mut tx, &found.account_id).await?;
        let methods = factors.methods(app);
        let has = |factor: Factor| methods.contains(&factor.as_str());
        Ok(Some(Ways {
            has_passkey: has(Factor::Passkey),
            has_totp: has(Factor::Totp),
            has_recovery: has(Factor::RecoveryCode),
            are_codes_stopped: factors.codes_are_stopped(),
        }))
    }
}

/// Back to the first step.
fn ended(frame: &Frame, next: Option<&str>) -> Result<Response> {
    let response = frame.redirect_to(&frame.site().with_next("/sign-in", next))?;
    let response = frame.saying(response, &Flash::bad("This sign-in took too long, or was tried too often. Begin again."))?;
    Ok(session::with_cookies(response, [Cookie::Pending.end(frame.site())?]))
}

/// Where a page leads when no login waits: whoever is signed in has come back here from behind, and goes on.
fn over(frame: &Frame, next: Option<&str>) -> Result<Response> {
    if frame.visitor().is_none() {
        return ended(frame, next);
    }
    frame.redirect_to(next.unwrap_or(&frame.path("/")))
}

fn code_form() -> Form {
    Form::of([Field::code("code", "Code of your authenticator app").focused()])
}

fn recovery_form() -> Form {
    let field = Field::text("code", "Recovery code").hint("Each works once. Dashes and capitals do not matter.").focused();
    Form::of([field])
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, pending: Pending, RawQuery(query): RawQuery) -> Result<Response> {
    let Asked { next, .. } = Asked::of(&frame, query.as_deref());
    let Some(ways) = pending.ways(&app).await? else { return over(&frame, next.as_deref()) };
    let form = code_form();
    code_page(&frame, &form, next, ways)
}

fn code_page(frame: &Frame, form: &Form, next: Option<String>, ways: Ways) -> Result<Response> {
    let other = frame.site().with_next("/sign-in/recovery-code", next.as_deref());
    form.page(&SecondFactor { frame, form, next, ways, other })
}

fn recovery_page(frame: &Frame, form: &Form, next: Option<String>, ways: Ways) -> Result<Response> {
    let other = frame.site().with_next("/sign-in/second-factor", next.as_deref());
    form.page(&RecoveryCode { frame, form, next, ways, other })
}

/// The page again, after a passkey was refused.
pub(super) async fn refused(app: &AppState, frame: &Frame, pending: &Pending, next: Option<String>, error: Error) -> Result<Response> {
    // A fault of ours is told whatever has become of the login.
    let form = step_up::refuse_passkey(code_form(), error)?;
    let Some(ways) = pending.ways(app).await? else { return ended(frame, next.as_deref()) };
    code_page(frame, &form, next, ways)
}

pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    before: Before,
    pending: Pending,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    // Apps show a code in two halves, and people type what they see.
    let code: String = sent.text("code").split_whitespace().collect();
    match completion::by_totp(&app, from, &pending.0, &code).await {
        Ok(logged_in) => session::begin(&app, &frame, before, &logged_in, next.as_deref()).await,
        Err(error) => {
            let form = refuse(code_form(), error, "The code is wrong, or was used already. Wait for the next one.")?;
            let Some(ways) = pending.ways(&app).await? else { return ended(&frame, next.as_deref()) };
            code_page(&frame, &form, next, ways)
        }
    }
}

pub(super) async fn show_recovery(
    State(app): State<AppState>,
    frame: Frame,
    pending: Pending,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let Asked { next, .. } = Asked::of(&frame, query.as_deref());
    let Some(ways) = pending.ways(&app).await? else { return over(&frame, next.as_deref()) };
    let form = recovery_form();
    recovery_page(&frame, &form, next, ways)
}

pub(super) async fn submit_recovery(
    State(app): State<AppState>,
    frame: Frame,
    before: Before,
    pending: Pending,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let next = next_of(&frame, &sent);
    match completion::by_recovery_code(&app, from, &pending.0, sent.text("code").trim()).await {
        Ok((logged_in, remaining)) => {
            let response = session::begin(&app, &frame, before, &logged_in, next.as_deref()).await?;
            let codes = if remaining == 1 { "1 recovery code is".to_owned() } else { format!("{remaining} recovery codes are") };
            frame.saying(
                response,
                &Flash::good(format!("You are signed in. {codes} left; new ones need your passkey or authenticator app.")),
            )
        }
        Err(error) => {
            let form = refuse(recovery_form(), error, "This is no recovery code of yours, or it was used already.")?;
            let Some(ways) = pending.ways(&app).await? else { return ended(&frame, next.as_deref()) };
            recovery_page(&frame, &form, next, ways)
        }
    }
}

/// The pages know what was wrong: the login is still there, so it was the code.
fn refuse(form: Form, error: Error, wrong: &'static str) -> Result<Form> {
    match error {
        Error::WrongCredentials(_) => Ok(form.refuse_field(StatusCode::UNAUTHORIZED, wrong, "You are not signed in yet.")),
        error => form.refuse(error),
    }
}
