//! What surrounds every page: who looks at it, what its forms carry, what it says once, and what its headers are.
//!
//! Everything under the pages' paths goes through `middleware`, so that no page can forget any of it. A credential in the headers counts for nothing
//! here, and the cookie for nothing elsewhere.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use shared::time::UnixMillis;

use super::cookies::{Cookie, Value};
use super::fields::Fields;
use super::flash::Flash;
use super::headers::{self, Needs};
use super::session::{self, Visitor};
use super::site::Site;
use super::{csrf, reauthenticate, refusal, view};
use crate::domain::access::SignedIn;
use crate::domain::audit::ClientAddress;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{AppError, AppResult};
use crate::domain::second_factors::passkeys;
use crate::http::AppState;
use crate::http::extract::read_body;
use crate::http::layer::SentPath;

/// The largest form, in bytes.
const MOST_FORM: usize = 64 << 10;

/// What a page shows besides its own contents. Every template has one, by the name `frame`.
#[derive(Clone, Debug)]
pub struct Frame(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: AppState,
    site: Site,
    visitor: Option<Visitor>,
    csrf: String,
    flash: Option<Flash>,
    path: String,
}

impl Frame {
    /// Where the pages stand.
    pub fn site(&self) -> &Site {
        &self.0.site
    }

    /// Who is signed in.
    pub fn visitor(&self) -> Option<&Visitor> {
        self.0.visitor.as_ref()
    }

    /// What forms carry in the field `csrf`, and scripts in the header `X-CSRF-Token`.
    pub fn csrf(&self) -> &str {
        &self.0.csrf
    }

    /// What the page says once.
    pub fn flash(&self) -> Option<&Flash> {
        self.0.flash.as_ref()
    }

    /// The path and query of the page, as they were asked for.
    pub fn here(&self) -> &str {
        &self.0.path
    }

    /// The address of a page, such as `/sign-in`.
    pub fn path(&self, page: &str) -> String {
        self.0.site.path(page)
    }

    /// The address of a file that pages are made of.
    pub fn asset(&self, name: &str) -> String {
        self.0.site.asset(name)
    }

    /// Whether passkeys can be used at this address.
    pub fn has_passkeys(&self) -> bool {
        passkeys::is_configured(&self.0.app)
    }

    /// The time now.
    pub fn now(&self) -> UnixMillis {
        self.0.app.now()
    }

    /// Whether the page, or one beneath it, is shown: for the navigation.
    pub fn is_at(&self, page: &str) -> bool {
        let (here, page_path) = (self.0.path.split('?').next().unwrap_or_default(), self.path(page));
        here == page_path || (page != "/" && here.strip_prefix(&page_path).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The pages of the navigation.
    pub fn navigation(&self) -> &'static [(&'static str, &'static str)] {
        view::NAVIGATION
    }

    /// Leads to a page of ours (303), as after every form that did what it should.
    pub fn redirect(&self, page: &str) -> AppResult<Response> {
        self.redirect_to(&self.path(page))
    }

    /// The same, to a page that says something once.
    pub fn redirect_saying(&self, page: &str, flash: &Flash) -> AppResult<Response> {
        let cookie = flash.set(&self.0.app, &self.0.site)?;
        Ok(session::with_cookies(self.redirect(page)?, [cookie]))
    }

    /// The same to an address that was made by [`Site::path`], [`Site::with_next`] or [`Site::next`].
    pub fn redirect_to(&self, address: &str) -> AppResult<Response> {
        let location = HeaderValue::try_from(address).map_err(AppError::internal)?;
        Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
    }

    /// What this response says once, on the page that it leads to.
    pub fn saying(&self, response: Response, flash: &Flash) -> AppResult<Response> {
        Ok(session::with_cookies(response, [flash.set(&self.0.app, &self.0.site)?]))
    }
}

/// Every page has one.
impl<S: Send + Sync> FromRequestParts<S> for Frame {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> AppResult<Self> {
        parts.extensions.get().cloned().ok_or_else(|| AppError::internal("a page without a frame"))
    }
}

/// The cookies of a request, and what came of them.
struct Given {
    session: Option<Value>,
    form: Option<Value>,
    /// A form cookie that this response is to set.
    new_form: Option<String>,
    caller: Option<SignedIn>,
}

/// Makes the frame, runs the handler, and dresses its answer as a page.
pub(super) async fn middleware(State((app, site)): State<(AppState, Site)>, mut request: Request, next: Next) -> Response {
    // A bearer credential is for the interface; here only the cookie counts.
    request.headers_mut().remove(header::AUTHORIZATION);
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.extensions().get::<SentPath>().map(|sent| sent.0.to_string()).unwrap_or_default();
    // Elsewhere the cookie stays: an answer that comes late would take away the session that the browser has got meanwhile.
    let is_sign_in = *request.method() == Method::GET && path.split('?').next() == Some(site.path("/sign-in").as_str());
    let from = request.extensions().get().copied();
    let (frame, given, begun) = begin(&app, &site, request.headers(), from, path).await;
    let mut is_ended = is_sign_in && given.session.is_some() && given.caller.is_none() && begun.is_ok();
    let mut sent = (!is_read).then(Fields::default);
    let answer = match begun {
        Ok(()) => match admit(&site, &given, request, is_read).await {
            Ok(mut request) => {
                if let Some(fields) = request.extensions().get::<Fields>() {
                    sent = Some(fields.clone());
                }
                if let Some(caller) = &given.caller {
                    request.extensions_mut().insert(caller.clone());
                }
                request.extensions_mut().insert(frame.clone());
                reauthenticate::run(&app, &frame, given.caller.as_ref(), sent.as_ref(), request, next).await
            }
            Err(error) => error.into_response(),
        },
        Err(error) => error.into_response(),
    };
    let mut response = refusal::as_page(&frame, answer, sent.as_ref());
    let needs = response.extensions_mut().remove::<Needs>().unwrap_or_default();
    if session::sets(&site, &response, Cookie::Session) {
        is_ended = false;
    }
    match finish(&site, &frame, &given, is_ended, &mut response, &needs) {
        Ok(()) => response,
        Err(error) => error.into_response(),
    }
}

/// Finds out who asks. There is a frame in any case, also for the page that says what went wrong.
async fn begin(
    app: &AppState,
    site: &Site,
    headers: &HeaderMap,
    from: Option<ClientAddress>,
    path: String,
) -> (Frame, Given, AppResult<()>) {
    let session = Cookie::Session.read(site, headers);
    let mut given = Given { form: Cookie::Form.read(site, headers), session, new_form: None, caller: None };
    let mut inner =
        Inner { app: app.clone(), site: site.clone(), visitor: None, csrf: String::new(), flash: Flash::read(app, site, headers), path };
    let mut make = async || {
        let from = from.ok_or_else(|| AppError::internal("a request without a client address"))?;
        if let Some(token) = &given.session
            && let Some((caller, visitor)) = session::find(app, &token.0, from).await?
        {
            inner.csrf = csrf::token(&token.0)?;
            inner.visitor = Some(visitor);
            given.caller = Some(caller);
            return Ok(());
        }
        inner.csrf = if let Some(form) = &given.form {
            csrf::token(&form.0)?
        } else {
            let secret = PlainToken::mailed(&app.dice)?.reveal().to_owned();
            let token = csrf::token(&secret)?;
            given.new_form = Some(secret);
            token
        };
        Ok(())
    };
    let begun = make().await;
    (Frame(Arc::new(inner)), given, begun)
}

/// Refuses a request that changes something unless it comes from a page of ours. Errors: 403, and those of a body.
async fn admit(site: &Site, given: &Given, request: Request, is_read: bool) -> AppResult<Request> {
    if is_read {
        return Ok(request);
    }
    csrf::check_sender(site, request.headers())?;
    let (mut parts, mut body) = request.into_parts();
    let mut shown = parts.headers.get(csrf::HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if shown.is_none() {
        let bytes = read_body(&parts.headers, body, MOST_FORM).await?;
        let fields = Fields::of(&parts.headers, &bytes);
        shown = fields.get(csrf::FIELD).map(str::to_owned);
        parts.extensions.insert(fields);
        body = Body::from(bytes);
    }
    let session = given.session.as_ref().map(|value| value.0.as_str());
    let form = given.form.as_ref().map(|value| value.0.as_str());
    // Of somebody who is signed in, the session's alone. One that ended while its page was open still tells that the page was ours.
    let secrets = if given.caller.is_some() { [session, None] } else { [form, session] };
    csrf::check_token(shown.as_deref(), secrets.into_iter().flatten())?;
    Ok(Request::from_parts(parts, body))
}

/// Sets the headers of a page, and the cookies that follow from what it was.
fn finish(site: &Site, frame: &Frame, given: &Given, is_ended: bool, response: &mut Response, needs: &Needs) -> AppResult<()> {
    headers::set(site, needs, response.headers_mut())?;
    let is_html = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let mut cookies = Vec::new();
    if is_ended {
        cookies.push(Cookie::Session.end(site)?);
    }
    if is_html && let Some(secret) = given.new_form.as_ref().filter(|_| !session::sets(site, response, Cookie::Form)) {
        cookies.push(Cookie::Form.set(site, secret, None)?);
    }
    // It was said.
    if is_html && frame.flash().is_some() && !session::sets(site, response, Cookie::Flash) {
        cookies.push(Cookie::Flash.end(site)?);
    }
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(())
}
