//! Dashboard sessions and authorized devices, and revoking them.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::text::isolate;
use shared::time::UnixMillis;

use super::flash::Flash;
use super::frame::Frame;
use super::{session, view};
use crate::domain::access::{DashboardSession, NotApiKey};
use crate::domain::cli_login::authorized_devices;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::Credential;
use crate::domain::error::{Error, Result};
use crate::domain::keys::{access_keys, sessions as service};
use crate::http::AppState;
use crate::http::extract::CredentialPath;
use crate::infra::dates::RelativeTime;

#[derive(Template)]
#[template(path = "dashboard/sessions.html")]
struct SessionsPage<'p> {
    frame: &'p Frame,
    sessions: Vec<SessionItem>,
    devices: Vec<SessionItem>,
    has_others: bool,
}

/// A session or an authorized device, as the page shows it.
struct SessionItem {
    /// Where its revocation is sent.
    revoke: String,
    /// The name of an authorized device.
    label: String,
    address: String,
    created: RelativeTime,
    used: Option<RelativeTime>,
    expires: RelativeTime,
    is_current: bool,
    /// Whether revoking all other sessions would revoke it.
    is_other: bool,
}

impl SessionItem {
    fn of(frame: &Frame, session: &DashboardSession, found: &Credential) -> Self {
        let relative = |time: UnixMillis| RelativeTime::of(time, frame.now());
        Self {
            revoke: frame.path(&format!("/sessions/{}/end", found.id)),
            label: if found.kind().is_cli() { found.device().label() } else { String::new() },
            address: found.created_by.clone(),
            created: relative(found.created_time),
            used: found.last_used_time.map(relative),
            expires: relative(found.expires),
            is_current: found.id == *session.credential(),
            is_other: found.kind() == CredentialKind::DashboardSession && found.id != *session.credential(),
        }
    }
}

pub(super) async fn show(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let found = service::list(&app, &session).await?;
    let (devices, sessions): (Vec<_>, Vec<_>) = found.iter().rev().partition(|found| found.kind().is_cli());
    let shown = |found: Vec<&Credential>| found.into_iter().map(|found| SessionItem::of(&frame, &session, found)).collect::<Vec<_>>();
    let (sessions, devices) = (shown(sessions), shown(devices));
    let has_others = sessions.iter().any(|shown| shown.is_other);
    view::page(&SessionsPage { frame: &frame, sessions, devices, has_others })
}

pub(super) async fn revoke(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    caller: NotApiKey,
    credential: Result<CredentialPath, Error>,
) -> Result<Response> {
    let found = service::list(&app, &session).await?;
    let found = credential.ok().and_then(|CredentialPath(id)| found.into_iter().find(|found| found.id == id));
    // It was revoked meanwhile, which is what the user wanted.
    let Some(found) = found else { return frame.redirect_with_flash("/sessions", &Flash::good("It was already signed out.")) };
    if found.id == *session.credential() {
        service::end_current(&app, &session).await?;
        return session::end(&frame, frame.redirect_with_flash("/sign-in", &Flash::good("You are signed out."))?);
    }
    let (revoked, text) = if found.kind().is_cli() {
        (authorized_devices::remove(&app, &session, &found.id).await, format!("{} was signed out.", isolate(&found.device().label())))
    } else {
        (access_keys::remove(&app, &caller, &found.friendly_name).await, "The session was revoked.".to_owned())
    };
    match revoked {
        Ok(()) => frame.redirect_with_flash("/sessions", &Flash::good(text)),
        Err(Error::NotFound(_)) => frame.redirect_with_flash("/sessions", &Flash::good("It was already signed out.")),
        Err(error) => Err(error),
    }
}

pub(super) async fn revoke_others(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let text = match service::end_dashboard(&app, &session, true).await? {
        0 => "There were no other sessions.".to_owned(),
        1 => "1 other session was revoked.".to_owned(),
        revoked => format!("{revoked} other sessions were revoked."),
    };
    frame.redirect_with_flash("/sessions", &Flash::good(text))
}
