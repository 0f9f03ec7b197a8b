//! The session cookie: read only here, and set and removed at sign-in and sign-out.

use std::borrow::Cow;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use shared::text::isolate;
use shared::time::UnixMillis;

use super::cookies::Cookie;
use super::frame::Frame;
use super::site::Site;
use crate::domain::access::{DashboardSession, SignedIn, bearer};
use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::credentials::device_cookies::Device;
use crate::domain::credentials::device_cookies::service::LIFETIME;
use crate::domain::error::{Error, Result};
use crate::domain::keys::sessions;
use crate::domain::login::service::LoggedIn;
use crate::domain::second_factors::factors;
use crate::http::AppState;
use crate::infra::dates::{RelativeTime, day};

/// The signed-in visitor, as every page shows it.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The account's email address.
    pub email: String,
    /// The display name.
    pub name: Option<String>,
    /// When the account will require a second factor; `None` when it has one.
    pub deadline: Option<UnixMillis>,
}

impl Visitor {
    /// The name, or the address if there is none, isolated for use in a sentence.
    pub fn called(&self) -> Cow<'_, str> {
        isolate(self.name.as_deref().unwrap_or(&self.email))
    }

    /// The deadline to set up a second factor, by its date: it says better than a number of days that nothing is refused before.
    pub fn mfa_deadline(&self, frame: &Frame) -> Option<RelativeTime> {
        self.deadline.map(|deadline| RelativeTime { text: day(deadline), ..RelativeTime::of(deadline, frame.now()) })
    }

    /// Whether the deadline to set up a second factor has passed.
    pub fn is_overdue(&self, frame: &Frame) -> bool {
        self.deadline.is_some_and(|deadline| frame.now() > deadline)
    }
}

/// What a browser has before it signs in: maybe a session, and its device cookie.
#[derive(Clone, Debug)]
pub struct BrowserState {
    /// The session.
    pub session: Option<DashboardSession>,
    /// The content of the device cookie.
    pub device: Device,
}

impl FromRequestParts<AppState> for BrowserState {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let frame = Frame::from_request_parts(parts, app).await?;
        let device = Cookie::Device.read(frame.site(), &parts.headers).map(|value| Device::parse(&value.0)).unwrap_or_default();
        match DashboardSession::from_request_parts(parts, app).await {
            Ok(session) => Ok(Self { session: Some(session), device }),
            Err(Error::Unauthenticated) => Ok(Self { session: None, device }),
            Err(error) => Err(error),
        }
    }
}

/// The session's caller, and what pages show about it; `None` when the session has expired or was revoked. Errors: 429, 503.
pub(super) async fn find(app: &Context, token: &str, from: ClientAddress) -> Result<Option<(SignedIn, Visitor)>> {
    let caller = match bearer::by_dashboard_session(app, token, from).await {
        Err(Error::Unauthenticated) => return Ok(None),
        found => found?,
    };
    let mut tx = app.db.read().await?;
    let Some(account) = accounts::repo::find(&mut tx, caller.account()).await? else { return Ok(None) };
    let are_on = factors::find(&mut tx, caller.account()).await?.are_on();
    let deadline = if are_on { None } else { factors::deadline(&mut tx, caller.account()).await? };
    Ok(Some((caller, Visitor { email: account.email, name: account.name, deadline })))
}

/// The response to a successful login: the cookie of the new session, which replaces and revokes the browser's previous one; the device cookie; and a
/// redirect to the requested page, or to the home page.
pub(super) async fn begin(
    app: &Context,
    frame: &Frame,
    browser: BrowserState,
    logged_in: &LoggedIn,
    next: Option<&str>,
) -> Result<Response> {
    if let Some(session) = browser.session {
        match sessions::end_current(app, &session).await {
            Ok(()) | Err(Error::Unauthenticated) => {}
            Err(error) => return Err(error),
        }
    }
    let site = frame.site();
    let seconds = (logged_in.session.expires.0 - app.now().0) / 1_000;
    let cookie = Cookie::Session.set(site, logged_in.session.token.reveal(), Some(seconds))?;
    let device = browser.device.remember(app, &logged_in.account).await?;
    let device = Cookie::Device.set(site, &device.reveal(), Some(LIFETIME / 1_000))?;
    let first = site.path("/");
    let response = frame.redirect_to(next.and_then(|next| site.next(next)).unwrap_or(&first))?;
    Ok(with_cookies(response, [cookie, device, Cookie::Pending.end(site)?, Cookie::Form.end(site)?]))
}

/// Removes the session cookie, after a sign-out.
pub(super) fn end(frame: &Frame, response: Response) -> Result<Response> {
    Ok(with_cookies(response, [Cookie::Session.end(frame.site())?]))
}

/// Adds cookies to a response.
pub(super) fn with_cookies(response: Response, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
    let mut response = response;
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Whether the response already sets or removes this cookie.
pub(super) fn sets(site: &Site, response: &Response, cookie: Cookie) -> bool {
    let name = cookie.name(site);
    let set = response.headers().get_all(header::SET_COOKIE);
    set.iter().filter_map(|value| value.to_str().ok()?.split_once('=')).any(|(set, _)| set == name)
}
