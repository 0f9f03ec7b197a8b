//! The middleware of every page, so that no page can forget any of it: session, CSRF check, headers and cookies.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::cookies::{Cookie, Value};
use super::fields::Fields;
use super::flash::Flash;
use super::frame::{Frame, Inner};
use super::headers::{self, Needs};
use super::site::Site;
use super::{csrf, reauthenticate, refusal, session};
use crate::domain::access::SignedIn;
use crate::domain::audit::ClientAddress;
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, Result};
use crate::http::AppState;
use crate::http::extract::read_body;
use crate::http::layer::{SentPath, problem};

/// The maximum size of a form, in bytes.
const MAX_FORM: usize = 64 << 10;

/// The cookies of a request, and what they resolved to.
struct RequestCookies {
    session: Option<Value>,
    form: Option<Value>,
    /// A form cookie for this response to set.
    new_form: Option<String>,
    caller: Option<SignedIn>,
}

/// Creates the frame, runs the handler, and renders refusals as pages.
pub(super) async fn run(State((app, site)): State<(AppState, Site)>, mut request: Request, next: Next) -> Response {
    // Bearer credentials are for the API; pages accept only the cookie.
    request.headers_mut().remove(header::AUTHORIZATION);
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.extensions().get::<SentPath>().map(|sent| sent.0.to_string()).unwrap_or_default();
    // Only the sign-in page removes a dead session cookie: elsewhere a late response would remove a session that the browser got meanwhile.
    let is_sign_in = *request.method() == Method::GET && path.split('?').next() == Some(site.path("/sign-in").as_str());
    let from = request.extensions().get().copied();
    let (frame, given, begun) = begin(&app, &site, request.headers(), from, path).await;
    let mut is_ended = is_sign_in && given.session.is_some() && given.caller.is_none() && begun.is_ok();
    let mut sent = (!is_read).then(Fields::default);
    let answer = match begun {
        Ok(()) => match check_csrf(&site, &given, request, is_read).await {
            Ok(Checked::WithoutSession(fields)) if refusal::needs_session(&frame) => {
                refusal::expired(&frame, &fields).unwrap_or_else(IntoResponse::into_response)
            }
            Ok(Checked::Foreign | Checked::WithoutSession(_)) => problem::refused(StatusCode::FORBIDDEN, csrf::REFUSED),
            Ok(Checked::Ours(mut request)) => {
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

/// Finds the session. There is always a frame, since the error page needs one too.
async fn begin(
    app: &AppState,
    site: &Site,
    headers: &HeaderMap,
    from: Option<ClientAddress>,
    path: String,
) -> (Frame, RequestCookies, Result<()>) {
    let session = Cookie::Session.read(site, headers);
    let mut given = RequestCookies { form: Cookie::Form.read(site, headers), session, new_form: None, caller: None };
    let mut inner = Inner {
        app: app.clone(),
        site: site.clone(),
        visitor: None,
        csrf: String::new(),
        flash: Flash::read(app, site, headers),
        path,
        link_origin: String::new(),
    };
    let mut resolve = async || {
        let from = from.ok_or_else(|| Error::internal("a request without a client address"))?;
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
            let secret = PlainToken::mailed(&app.entropy)?.reveal().to_owned();
            let token = csrf::token(&secret)?;
            given.new_form = Some(secret);
            token
        };
        Ok(())
    };
    let begun = resolve().await;
    (Frame(Arc::new(inner)), given, begun)
}

/// What the CSRF check found.
enum Checked {
    /// The request only reads, or comes from one of our pages.
    Ours(Request),
    /// It does not have a valid token, but the browser says that one of our pages sent it, and nobody is signed in: probably the session expired, and its
    /// cookie with it, while a form was open. With the fields of the form.
    WithoutSession(Fields),
    /// It may come from anywhere.
    Foreign,
}

/// The CSRF check. Errors: those of a body.
async fn check_csrf(site: &Site, given: &RequestCookies, request: Request, is_read: bool) -> Result<Checked> {
    if is_read {
        return Ok(Checked::Ours(request));
    }
    if !csrf::is_own_sender(site, request.headers()) {
        return Ok(Checked::Foreign);
    }
    let (mut parts, mut body) = request.into_parts();
    let mut fields = Fields::default();
    let mut shown = parts.headers.get(csrf::HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if shown.is_none() {
        let bytes = read_body(&parts.headers, body, MAX_FORM).await?;
        fields = Fields::of(&parts.headers, &bytes);
        shown = fields.get(csrf::FIELD).map(str::to_owned);
        parts.extensions.insert(fields.clone());
        body = Body::from(bytes);
    }
    let session = given.session.as_ref().map(|value| value.0.as_str());
    let form = given.form.as_ref().map(|value| value.0.as_str());
    // A signed-in visitor needs the session's token. The token of a session that ended while its page was open still shows that the page was ours.
    let secrets = if given.caller.is_some() { [session, None] } else { [form, session] };
    if csrf::is_token_of(shown.as_deref(), secrets.into_iter().flatten())? {
        return Ok(Checked::Ours(Request::from_parts(parts, body)));
    }
    Ok(if given.caller.is_none() { Checked::WithoutSession(fields) } else { Checked::Foreign })
}

/// Sets a page's headers and cookies.
fn finish(site: &Site, frame: &Frame, given: &RequestCookies, is_ended: bool, response: &mut Response, needs: &Needs) -> Result<()> {
    headers::set(site, needs, response.headers_mut())?;
    let is_html = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let mut cookies = Vec::new();
    if is_ended {
        cookies.push(Cookie::Session.end(site)?);
    }
    if is_html && let Some(secret) = given.new_form.as_ref().filter(|_| !session::sets(site, response, Cookie::Form)) {
        cookies.push(Cookie::Form.set(site, secret, None)?);
    }
    // The flash message was shown.
    if is_html && frame.flash().is_some() && !session::sets(site, response, Cookie::Flash) {
        cookies.push(Cookie::Flash.end(site)?);
    }
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(())
}
