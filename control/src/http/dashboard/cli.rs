//! Authorizing CLIs: entering the code of a request, deciding on the request, and its outcome.
//!
//! Opening a page decides nothing, nor does a link with the code in it: only a button does. A request with a user code is approved only by a form that has
//! this code. A visitor who followed a link to the request's own page has compared no code, and may only look and deny.

use std::net::IpAddr;

use askama::Template;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use shared::Invalid;
use shared::ids::CliAuthorizationId;
use shared::limit::network;

use super::fields::Fields;
use super::form::{Field, Form};
use super::frame::Frame;
use super::{refusal, view};
use crate::domain::access::DashboardSession;
use crate::domain::audit::ClientAddress;
use crate::domain::cli_login::decision::{self, Decided};
use crate::domain::cli_login::request::{self, AuthorizationRow, Mode};
use crate::domain::cli_login::user_code::UserCode;
use crate::domain::conflict::Conflict;
use crate::domain::error::{Error, Refusal, Result, Thing};
use crate::domain::login::RecentLogin;
use crate::domain::second_factors as mfa;
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::AuthorizationPath;
use crate::http::extract::query::parameter;
use crate::infra::dates::{RelativeTime, relative};

/// Why the visitor cannot continue, and what to do about it.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    /// The reason.
    pub(super) text: &'static str,
    /// The label of the link that helps.
    pub(super) label: &'static str,
    /// The link's address.
    pub(super) address: String,
}

impl Obstacle {
    /// The obstacle for an account without a second factor, or for a login that is too old where reauthentication does not help. Other refusals are
    /// returned as errors. `here` is the page to return to.
    pub(super) fn of(frame: &Frame, error: Error, here: &str) -> Result<Self> {
        match error {
            Error::Refused(Refusal::NoSecondFactor) => Ok(Self {
                text: "Your account requires two-factor authentication. Set it up first; then you return to this page.",
                label: "Set up two-factor authentication",
                address: refusal::set_up(frame, Some(here)),
            }),
            error if error.asks_for_login() => Ok(Self {
                text: "You signed in a while ago. Sign in again to authorize the CLI; then you return to this page.",
                label: "Sign in again",
                address: frame.site().with_next("/sign-in?again", Some(here)),
            }),
            error => Err(error),
        }
    }
}

/// The right to approve a CLI, or why this session does not have it. Without it, the visitor may still look and deny. Extract it after the session.
pub(super) struct ApprovalRight(Result<(NewCredentials, RecentLogin)>);

impl FromRequestParts<AppState> for ApprovalRight {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Ok(Self(approval_right(parts, app).await))
    }
}

async fn approval_right(parts: &mut Parts, app: &AppState) -> Result<(NewCredentials, RecentLogin)> {
    let right = NewCredentials::from_request_parts(parts, app).await?;
    Ok((right, RecentLogin::from_request_parts(parts, app).await?))
}

/// What the page shows about the requesting CLI.
struct Requester {
    device: Option<String>,
    program: Option<String>,
    platform: Option<String>,
    address: String,
    /// Whether it is in the browser's network.
    is_same_network: bool,
    /// Whether it is known to be in another network.
    is_other_network: bool,
    /// Where the browser sends the answer.
    redirect_uri: Option<String>,
}

impl Requester {
    fn of(frame: &Frame, row: AuthorizationRow, from: ClientAddress) -> Self {
        let version = row.device.client_version.map(|version| format!(" {version}")).unwrap_or_default();
        // Behind a proxy that does not forward client addresses, every address is the proxy's and says nothing.
        let address = row.created_by.parse().ok().filter(|address| frame.site().is_plain() || !is_inner(*address));
        // Compared as rate limits compare addresses. IPv4 and IPv6 cannot be compared: a device may have both.
        let is_comparable = |address: &IpAddr| address.to_canonical().is_ipv4() == from.0.to_canonical().is_ipv4();
        let is_same = address.filter(is_comparable).map(|address| network(address) == network(from.0));
        Self {
            device: row.device.name,
            program: row.device.client_name.map(|name| format!("{name}{version}")),
            platform: row.device.client_platform,
            address: row.created_by,
            is_same_network: is_same == Some(true),
            is_other_network: is_same == Some(false),
            redirect_uri: row.redirect_uri,
        }
    }
}

/// Whether an address is loopback, private or link-local.
fn is_inner(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[derive(Template)]
#[template(path = "dashboard/cli_request.html")]
struct RequestPage<'p> {
    frame: &'p Frame,
    page: &'p str,
    email: &'p str,
    /// Where another account signs in and returns.
    again: String,
    requester: &'p Requester,
    requested: RelativeTime,
    expires: RelativeTime,
    /// When the CLI's access would expire, such as `in 90 days`.
    access_expires: String,
    obstacle: Option<Obstacle>,
    /// Whether it can be approved only with the code in its terminal, which was not entered.
    wants_code: bool,
    /// The code that was entered for it.
    user_code: Option<String>,
}

/// The outcome of a request.
#[derive(Template)]
#[template(path = "dashboard/cli_settled.html")]
struct OutcomePage<'p> {
    frame: &'p Frame,
    title: &'static str,
    text: &'static str,
    is_approved: bool,
    /// Where the CLI waits for the browser. It contains the code, so only one page ever has it.
    back: Option<String>,
}

#[derive(Template)]
#[template(path = "dashboard/activate.html")]
struct Activate<'p> {
    frame: &'p Frame,
    form: &'p Form,
    is_filled_in: bool,
}

fn activate_form(code: &str) -> Form {
    let hint = "The eight letters in your terminal. Dashes and case do not matter.";
    Form::of([Field::text("userCode", "Code").hint(hint).value(code).class("user-code").focused()])
}

pub(super) async fn show_activate(frame: Frame, _session: DashboardSession, RawQuery(query): RawQuery) -> Result<Response> {
    let given = parameter(query.as_deref().unwrap_or_default(), "user_code")?.and_then(|code| code.parse::<UserCode>().ok());
    let form = activate_form(&given.as_ref().map(UserCode::to_string).unwrap_or_default());
    form.page(&Activate { frame: &frame, form: &form, is_filled_in: given.is_some() })
}

pub(super) async fn activate(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    ApprovalRight(right): ApprovalRight,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let found = match typed(&sent) {
        Ok(code) => decision::resolve(&app, &session, &code).await,
        // No code has such letters. To the visitor, it is a mistyped code like others.
        Err(_) if has_eight_letters(sent.text("userCode")) => Err(Error::NotFound(Thing::Authorization)),
        Err(error) => Err(error),
    };
    let form = activate_form(sent.text("userCode"));
    let form = match found {
        Ok(id) => return request_page(&app, &frame, &session, right.err(), from, &id, code_of(&sent).as_ref()).await,
        Err(Error::NotFound(_)) => {
            let text = "No CLI is waiting for this code. It may be mistyped, expired, or already approved or denied.";
            form.refuse(Error::invalid("userCode", "is not known"))?.in_words("userCode", text)
        }
        Err(error) => form.refuse(error)?,
    };
    form.page(&Activate { frame: &frame, form: &form, is_filled_in: false })
}

/// The page of a form here that has a code, with the code; opening it decides nothing. `None` for every other form.
pub(super) fn return_page(frame: &Frame, sent: &Fields) -> Option<String> {
    let is_ours = frame.is_at("/activate") || frame.is_at("/cli/authorize");
    code_of(sent).filter(|_| is_ours).map(|code| frame.path(&page_by(&code)))
}

fn typed(sent: &Fields) -> Result<UserCode> {
    let typed = sent.get("userCode").ok_or(Invalid::from("is required"));
    typed.and_then(str::parse).map_err(|fault| Error::invalid("userCode", fault))
}

/// Whether it looks like a code.
fn has_eight_letters(typed: &str) -> bool {
    let letters = || typed.chars().filter(|letter| !matches!(letter, '-' | ' '));
    letters().count() == 8 && letters().all(|letter| letter.is_ascii_alphabetic())
}

fn code_of(sent: &Fields) -> Option<UserCode> {
    typed(sent).ok()
}

fn page_of(id: &CliAuthorizationId) -> String {
    format!("/cli/authorize/{id}")
}

/// Where a visitor who entered this code returns to the request.
fn page_by(code: &UserCode) -> String {
    format!("/activate?user_code={code}")
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    ApprovalRight(right): ApprovalRight,
    from: ClientAddress,
    id: Result<AuthorizationPath, Error>,
) -> Result<Response> {
    let Ok(AuthorizationPath(id)) = id else { return unknown(&frame) };
    request_page(&app, &frame, &session, right.err(), from, &id, None).await
}

/// Whether reauthentication helps against this refusal. With a second factor it does not: only the login's age counts.
async fn is_helped(app: &AppState, session: &DashboardSession, error: &Error) -> Result<bool> {
    Ok(error.asks_for_login() && !mfa::is_enabled(&mut app.db.read().await?, session.account()).await?)
}

/// A request with its decision buttons. `hindrance` is why the session cannot approve it, `code` the user code that was entered for it.
async fn request_page(
    app: &AppState,
    frame: &Frame,
    session: &DashboardSession,
    hindrance: Option<Error>,
    from: ClientAddress,
    id: &CliAuthorizationId,
    code: Option<&UserCode>,
) -> Result<Response> {
    let (row, state) = match decision::read(app, session, id).await {
        Err(Error::NotFound(_)) => return unknown(frame),
        read => read?,
    };
    let mode = row.mode;
    if state != request::State::Pending {
        return view::page(&settled(frame, mode, state));
    }
    let wants_code = mode == Mode::Device && code.is_none();
    let (page, here) = (frame.path(&page_of(id)), frame.path(&code.map_or_else(|| page_of(id), page_by)));
    // Where reauthentication helps, it is asked for when the button is pressed.
    let hindrance = match hindrance {
        Some(error) if is_helped(app, session, &error).await? => None,
        hindrance => hindrance,
    };
    let obstacle = hindrance.map(|error| Obstacle::of(frame, error, &here)).transpose()?;
    let (requested, expires) = (RelativeTime::of(row.created_time, frame.now()), RelativeTime::of(row.expires, frame.now()));
    let access_expires = relative(frame.now().plus_millis(app.settings.limits.sessions.cli), frame.now());
    let client = Requester::of(frame, row, from);
    let again = frame.site().with_next("/sign-in?again", Some(&here));
    let user_code = code.map(UserCode::to_string);
    view::page(&RequestPage {
        frame,
        page: &page,
        email: session.email(),
        again,
        requester: &client,
        requested,
        expires,
        access_expires,
        obstacle,
        wants_code,
        user_code,
    })
}

pub(super) async fn decide(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    ApprovalRight(right): ApprovalRight,
    id: Result<AuthorizationPath, Error>,
    sent: Fields,
) -> Result<Response> {
    let Ok(AuthorizationPath(id)) = id else { return unknown(&frame) };
    let decided = match (sent.text("decision"), right) {
        ("approve", Ok((right, recent))) => match check_code(&app, &session, &id, &sent).await {
            Ok(()) => decision::approve(&app, &session, right, recent, &id).await,
            Err(error) => Err(error),
        },
        ("approve", Err(error)) => Err(error),
        ("deny", _) => decision::deny(&app, &session, &id).await,
        _ => Err(Error::invalid("decision", "must be approve or deny")),
    };
    match decided {
        Ok(Decided { redirect_uri: Some(back), .. }) => view::page(&redirecting(&frame, sent.text("decision") == "approve", back)),
        // The page shows the state, or what helps.
        Ok(_) | Err(Error::Conflict(_)) => frame.redirect(&page_of(&id)),
        Err(error) if is_helped(&app, &session, &error).await? => Err(error),
        Err(error) if error.asks_for_login() || matches!(error, Error::Refused(Refusal::NoSecondFactor)) => {
            frame.redirect(&code_of(&sent).map_or_else(|| page_of(&id), |code| page_by(&code)))
        }
        Err(Error::NotFound(_)) => unknown(&frame),
        Err(error) => Err(error),
    }
}

/// Checks that an approval has the code in the terminal, where the request has one. A pressed button alone proves nothing: another site may have led to
/// it. Errors: 404, 409 when the code belongs to another request or the request is no longer pending, 429.
async fn check_code(app: &AppState, session: &DashboardSession, id: &CliAuthorizationId, sent: &Fields) -> Result<()> {
    let (row, state) = decision::read(app, session, id).await?;
    if row.mode == Mode::Pkce {
        return Ok(());
    }
    let other = || Error::Conflict(Conflict::OtherCode);
    if state != request::State::Pending {
        return Err(other());
    }
    let code = code_of(sent).ok_or_else(other)?;
    match decision::resolve(app, session, &code).await {
        Ok(found) if found == *id => Ok(()),
        Ok(_) | Err(Error::NotFound(_)) => Err(other()),
        Err(error) => Err(error),
    }
}

/// The page that brings a decision back to the CLI: a link, and a script that follows it. A redirect would not be followed, since the policy `form-action`
/// limits forms to our own pages.
fn redirecting(frame: &Frame, is_approved: bool, back: String) -> OutcomePage<'_> {
    let (title, text) = if is_approved {
        ("CLI authorized", "One step left: open the link to finish in your terminal. It works once, for one minute.")
    } else {
        ("Request denied", "The CLI was not authorized. Open the link so that your terminal stops waiting.")
    };
    OutcomePage { frame, title, text, is_approved, back: Some(back) }
}

/// A request that was decided, for the account that did so; or one that expired, for everyone.
fn settled(frame: &Frame, mode: Mode, state: request::State) -> OutcomePage<'_> {
    let (title, text) = match (state, mode) {
        (request::State::Pending | request::State::Approved, Mode::Device) => {
            ("CLI authorized", "Return to your terminal. It continues within a few seconds. You can close this page.")
        }
        (request::State::Pending | request::State::Approved, Mode::Pkce) => {
            ("CLI authorized", "Your browser sent the answer to your terminal. If the terminal is still waiting, start again there.")
        }
        (request::State::Consumed, _) => ("CLI signed in", "Return to your terminal. You can close this page."),
        (request::State::Denied, _) => ("Request denied", "The CLI was not authorized. You can close this page."),
        (request::State::Expired, _) => ("Request expired", "A request expires after a few minutes. Start again in your terminal."),
        (request::State::Cancelled, _) => (
            "Request canceled",
            "The password was changed, or the session that approved the request was signed out. Start again in your terminal.",
        ),
        (request::State::Ended, _) => {
            let text =
                "Its code was used twice or with a wrong proof, so it no longer works. If this was not you, check your authorized devices.";
            ("Request revoked", text)
        }
    };
    let is_approved = matches!(state, request::State::Approved | request::State::Consumed);
    OutcomePage { frame, title, text, is_approved, back: None }
}

fn unknown(frame: &Frame) -> Result<Response> {
    let text = "It may have expired, another account may have decided on it, or the link is incomplete. Start again in your terminal.";
    view::page_with(StatusCode::NOT_FOUND, &OutcomePage { frame, title: "Request not found", text, is_approved: false, back: None })
}
