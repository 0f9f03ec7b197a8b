//! Where somebody is signed in, and the machines whose command lines were let in; and how each ends.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::text::isolate;

use super::flash::Flash;
use super::frame::Frame;
use super::{session, view};
use crate::domain::access::{DashboardSession, NotApiKey};
use crate::domain::cli_login::machines;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::{Error, Result};
use crate::domain::keys::{access_keys, sessions as service};
use crate::http::AppState;
use crate::http::extract::CredentialPath;
use crate::infra::dates::moment;

#[derive(Template)]
#[template(path = "dashboard/sessions.html")]
struct SessionsPage<'p> {
    frame: &'p Frame,
    sessions: Vec<Shown>,
    machines: Vec<Shown>,
    has_others: bool,
}

/// A session, as the page shows it.
struct Shown {
    /// Where its end is sent.
    end: String,
    /// What its owner may know it by.
    label: String,
    address: String,
    since: String,
    used: String,
    until: String,
    is_current: bool,
    /// Whether the end of all others would end it.
    is_other: bool,
}

impl Shown {
    fn of(frame: &Frame, session: &DashboardSession, found: &Credential) -> Self {
        let is_machine = found.kind().is_cli();
        Self {
            end: frame.path(&format!("/sessions/{}/end", found.id)),
            label: if is_machine { found.device().label() } else { "Signed in".to_owned() },
            address: found.created_by.clone(),
            since: moment(found.created_time),
            used: found.last_used_time.map_or_else(|| "not yet".to_owned(), moment),
            until: moment(found.expires),
            is_current: found.id == *session.credential(),
            is_other: found.kind() == CredentialKind::DashboardSession && found.id != *session.credential(),
        }
    }
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let found = service::list(&app, &session).await?;
    let (machines, sessions): (Vec<_>, Vec<_>) = found.iter().rev().partition(|found| found.kind().is_cli());
    let shown = |found: Vec<&Credential>| found.into_iter().map(|found| Shown::of(&frame, &session, found)).collect::<Vec<_>>();
    let (sessions, machines) = (shown(sessions), shown(machines));
    let has_others = sessions.iter().any(|shown| shown.is_other);
    view::page(&SessionsPage { frame: &frame, sessions, machines, has_others })
}

pub(super) async fn end(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    caller: NotApiKey,
    credential: Result<CredentialPath, Error>,
) -> Result<Response> {
    let found = service::list(&app, &session).await?;
    let found = credential.ok().and_then(|CredentialPath(id)| found.into_iter().find(|found| found.id == id));
    // What ended meanwhile is what was wanted.
    let Some(found) = found else { return frame.redirect_saying("/sessions", &Flash::good("It has ended already.")) };
    if found.id == *session.credential() {
        service::end_current(&app, &session).await?;
        return session::end(&frame, frame.redirect_saying("/sign-in", &Flash::good("You are signed out."))?);
    }
    let (ended, text) = if found.kind().is_cli() {
        (machines::remove(&app, &session, &found.id).await, format!("{} is signed out.", isolate(&found.device().label())))
    } else {
        (access_keys::remove(&app, &caller, &found.friendly_name).await, "The session is ended.".to_owned())
    };
    match ended {
        Ok(()) => frame.redirect_saying("/sessions", &Flash::good(text)),
        Err(Error::NotFound(_)) => frame.redirect_saying("/sessions", &Flash::good("It has ended already.")),
        Err(error) => Err(error),
    }
}

pub(super) async fn end_others(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let text = match service::end_dashboard(&app, &session, true).await? {
        0 => "There was no other session.".to_owned(),
        1 => "1 other session is ended.".to_owned(),
        ended => format!("{ended} other sessions are ended."),
    };
    frame.redirect_saying("/sessions", &Flash::good(text))
}
