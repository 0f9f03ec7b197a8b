//! Command lines that ask to be let in: the code that leads to a request, the request, and what became of it.
//!
//! Nothing is decided by opening a page, nor by a link that has the code in it: only a pressed button decides. A request by a code is let in only by a form
//! that has this code: whoever follows a link to the request's own page has compared nothing, and may look and deny.

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
use crate::domain::error::{Code, Error, Result};
use crate::domain::login::RecentLogin;
use crate::domain::second_factors as mfa;
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;
use crate::http::extract::AuthorizationPath;
use crate::infra::dates::moment;

/// A way out of what keeps somebody from going on.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    /// What it is.
    pub(super) text: &'static str,
    /// What helps.
    pub(super) label: &'static str,
    /// Where that is.
    pub(super) address: String,
}

impl Obstacle {
    /// What a refusal says of an account without a second factor, or of a login that is too old where a re-authentication does not help; other refusals are
    /// given back. `here` is the page to come back to.
    pub(super) fn of(frame: &Frame, error: Error, here: &str) -> Result<Self> {
        match error.code() {
            Some(Code::MfaSetupRequired) => Ok(Self {
                text: "The time to set up a second factor is over: set one up first. You come back to this page then.",
                label: "Set up a second factor",
                address: refusal::set_up(frame, Some(here)),
            }),
            Some(Code::ReauthRequired) => Ok(Self {
                text: "You signed in some time ago. To let a command line in, sign in once more: you come back to this page.",
                label: "Sign in again",
                address: frame.site().with_next("/sign-in?again", Some(here)),
            }),
            _ => Err(error),
        }
    }
}

/// The right to let a command line in, or why this session does not have it: whoever lacks it may still look, and deny. Take it after the session.
pub(super) struct Leave(Result<(NewCredentials, RecentLogin)>);

impl FromRequestParts<AppState> for Leave {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Ok(Self(leave(parts, app).await))
    }
}

async fn leave(parts: &mut Parts, app: &AppState) -> Result<(NewCredentials, RecentLogin)> {
    let right = NewCredentials::from_request_parts(parts, app).await?;
    Ok((right, RecentLogin::from_request_parts(parts, app).await?))
}

/// What the page says of whoever asks.
struct Asker {
    machine: Option<String>,
    program: Option<String>,
    platform: Option<String>,
    address: String,
    /// Whether its network is the browser's.
    is_here: bool,
    /// Whether its network is known to be another one.
    is_elsewhere: bool,
    asked: String,
    until: String,
    /// Where the browser takes the answer.
    listens_at: Option<String>,
}

impl Asker {
    fn of(frame: &Frame, row: AuthorizationRow, from: ClientAddress) -> Self {
        let version = row.device.client_version.map(|version| format!(" {version}")).unwrap_or_default();
        // Behind a proxy that does not say for whom it asks, all addresses are the proxy's: they tell nothing.
        let address = row.created_by.parse().ok().filter(|address| frame.site().is_plain() || !is_inner(*address));
        // As limits take two addresses for the same. Of one address by IPv4 and another by IPv6 nothing can be said: a machine may have both.
        let is_comparable = |address: &IpAddr| address.to_canonical().is_ipv4() == from.0.to_canonical().is_ipv4();
        let is_here = address.filter(is_comparable).map(|address| network(address) == network(from.0));
        Self {
            machine: row.device.name,
            program: row.device.client_name.map(|name| format!("{name}{version}")),
            platform: row.device.client_platform,
            address: row.created_by,
            is_here: is_here == Some(true),
            is_elsewhere: is_here == Some(false),
            asked: moment(row.created_time),
            until: moment(row.expires),
            listens_at: row.redirect_uri,
        }
    }
}

/// Whether an address is of this machine, or of a network that is not the internet.
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
    /// Where somebody else signs in and comes back.
    again: String,
    asker: &'p Asker,
    obstacle: Option<Obstacle>,
    /// Whether it is let in only by the code that its terminal shows, which was not given.
    wants_code: bool,
    /// The code that was given, and leads to it.
    user_code: Option<String>,
}

/// What became of a request.
#[derive(Template)]
#[template(path = "dashboard/cli_settled.html")]
struct Settled<'p> {
    frame: &'p Frame,
    title: &'static str,
    text: &'static str,
    is_in: bool,
    /// Where the command line waits for the browser. The code is in it, so no page has it twice.
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
    let hint = "Eight letters, as your terminal shows them. Dashes and capitals do not matter.";
    Form::of([Field::text("userCode", "Code").hint(hint).value(code).class("user-code").focused()])
}

pub(super) async fn show_activate(frame: Frame, _session: DashboardSession, RawQuery(query): RawQuery) -> Result<Response> {
    let mut pairs = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let given = pairs.find(|(name, _)| name == "user_code").and_then(|(_, code)| code.parse::<UserCode>().ok());
    let form = activate_form(&given.as_ref().map(UserCode::to_string).unwrap_or_default());
    form.page(&Activate { frame: &frame, form: &form, is_filled_in: given.is_some() })
}

pub(super) async fn activate(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    Leave(leave): Leave,
    from: ClientAddress,
    sent: Fields,
) -> Result<Response> {
    let found = match typed(&sent) {
        Ok(code) => decision::resolve(&app, &session, &code).await,
        Err(error) => Err(error),
    };
    let form = activate_form(sent.text("userCode"));
    let form = match found {
        Ok(id) => return request_page(&app, &frame, &session, leave.err(), from, &id, code_of(&sent).as_ref()).await,
        Err(Error::NotFound(_)) => {
            let text = "No command line waits for this code: it is mistyped, too old, or somebody has decided already.";
            form.refuse(Error::invalid("userCode", "is not known"))?.in_words("userCode", text)
        }
        Err(error) => form.refuse(error)?,
    };
    form.page(&Activate { frame: &frame, form: &form, is_filled_in: false })
}

/// The page to which a form of this area belongs that has a code, with the code; opening it decides nothing. `None` for every other form.
pub(super) fn way_back(frame: &Frame, sent: &Fields) -> Option<String> {
    let is_ours = frame.is_at("/activate") || frame.is_at("/cli/authorize");
    code_of(sent).filter(|_| is_ours).map(|code| frame.path(&page_by(&code)))
}

fn typed(sent: &Fields) -> Result<UserCode> {
    let typed = sent.get("userCode").ok_or(Invalid::from("is needed"));
    typed.and_then(str::parse).map_err(|fault| Error::invalid("userCode", fault))
}

fn code_of(sent: &Fields) -> Option<UserCode> {
    typed(sent).ok()
}

fn page_of(id: &CliAuthorizationId) -> String {
    format!("/cli/authorize/{id}")
}

/// Where somebody who has shown this code comes back to the request.
fn page_by(code: &UserCode) -> String {
    format!("/activate?user_code={code}")
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    Leave(leave): Leave,
    from: ClientAddress,
    id: Result<AuthorizationPath, Error>,
) -> Result<Response> {
    let Ok(AuthorizationPath(id)) = id else { return unknown(&frame) };
    request_page(&app, &frame, &session, leave.err(), from, &id, None).await
}

/// Whether a re-authentication helps against this refusal: of an account with a second factor the login's age alone counts.
async fn is_helped(app: &AppState, session: &DashboardSession, error: &Error) -> Result<bool> {
    let is_too_old = error.code() == Some(Code::ReauthRequired);
    Ok(is_too_old && !mfa::is_enabled(&mut app.db.read().await?, session.account()).await?)
}

/// A request, and what may be done with it: `hindrance` is what keeps the session from letting it in, `code` the user code that led to it.
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
    // What a re-authentication helps against is asked for when the button is pressed.
    let hindrance = match hindrance {
        Some(error) if is_helped(app, session, &error).await? => None,
        hindrance => hindrance,
    };
    let obstacle = hindrance.map(|error| Obstacle::of(frame, error, &here)).transpose()?;
    let asker = Asker::of(frame, row, from);
    let again = frame.site().with_next("/sign-in?again", Some(&here));
    let user_code = code.map(UserCode::to_string);
    view::page(&RequestPage { frame, page: &page, email: session.email(), again, asker: &asker, obstacle, wants_code, user_code })
}

pub(super) async fn decide(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    Leave(leave): Leave,
    id: Result<AuthorizationPath, Error>,
    sent: Fields,
) -> Result<Response> {
    let Ok(AuthorizationPath(id)) = id else { return unknown(&frame) };
    let decided = match (sent.text("decision"), leave) {
        ("approve", Ok((right, recent))) => match check_code(&app, &session, &id, &sent).await {
            Ok(()) => decision::approve(&app, &session, right, recent, &id).await,
            Err(error) => Err(error),
        },
        ("approve", Err(error)) => Err(error),
        ("deny", _) => decision::deny(&app, &session, &id).await,
        _ => Err(Error::invalid("decision", "must be approve or deny")),
    };
    match decided {
        Ok(Decided { redirect_uri: Some(back), .. }) => view::page(&on_the_way(&frame, sent.text("decision") == "approve", back)),
        // The page says where it stands, or what helps.
        Ok(_) | Err(Error::Conflict(_)) => frame.redirect(&page_of(&id)),
        Err(error) if is_helped(&app, &session, &error).await? => Err(error),
        Err(error) if matches!(error.code(), Some(Code::MfaSetupRequired | Code::ReauthRequired)) => {
            frame.redirect(&code_of(&sent).map_or_else(|| page_of(&id), |code| page_by(&code)))
        }
        Err(Error::NotFound(_)) => unknown(&frame),
        Err(error) => Err(error),
    }
}

/// Whether whoever lets a request in has the code that its terminal shows, where it has one: a press on a button tells nothing, for another site may have
/// led to it. Errors: 404, 409 when the code is not this request's or nothing waits for a decision, 429.
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

/// What is answered to a decision that the browser takes back to the command line: a link, and a script that follows it. A redirect is not followed after
/// a form, for forms may lead to our own pages only.
fn on_the_way(frame: &Frame, is_approved: bool, back: String) -> Settled<'_> {
    let (title, text) = if is_approved {
        ("You have let it in", "One step is left: your browser tells your terminal. The link works for a minute, once.")
    } else {
        ("You have denied it", "It is not let in. Your browser can tell your terminal, so that it stops waiting.")
    };
    Settled { frame, title, text, is_in: is_approved, back: Some(back) }
}

/// A request that nobody can decide on any more, for the account that did, or for everybody when its time ran out.
fn settled(frame: &Frame, mode: Mode, state: request::State) -> Settled<'_> {
    let (title, text) = match (state, mode) {
        (request::State::Pending | request::State::Approved, Mode::Device) => {
            ("You have let it in", "Done: go back to your terminal. It notices within some seconds. You can close this page.")
        }
        (request::State::Pending | request::State::Approved, Mode::Pkce) => {
            ("You have let it in", "Your browser has taken the answer to your terminal. If your terminal still waits, start again there.")
        }
        (request::State::Consumed, _) => ("It is in", "Done: go back to your terminal. You can close this page."),
        (request::State::Denied, _) => ("You have denied it", "This command line is not let in. You can close this page."),
        (request::State::Expired, _) => ("Its time has run out", "A request waits for some minutes only. Start again in your terminal."),
        (request::State::Cancelled, _) => (
            "It was cancelled",
            "A new password, or the end of the session that let it in, has cancelled it. Start again in your terminal.",
        ),
        (request::State::Ended, _) => {
            let text =
                "Its code came a second time, or with a wrong proof, so it lets nobody in. If that was not you, look at your machines.";
            ("It has ended", text)
        }
    };
    let is_in = matches!(state, request::State::Approved | request::State::Consumed);
    Settled { frame, title, text, is_in, back: None }
}

fn unknown(frame: &Frame) -> Result<Response> {
    let text = "It may be too old, somebody else may have decided on it, or the address is not whole. Start again in your terminal.";
    view::page_with(StatusCode::NOT_FOUND, &Settled { frame, title: "There is no such request", text, is_in: false, back: None })
}
