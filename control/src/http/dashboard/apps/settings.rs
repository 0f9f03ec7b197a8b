//! A deployment's settings: rename it, clear its history, delete it. What cannot be undone asks for the deployment's name.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use shared::keys::Name;

use super::place::{self, Link};
use crate::domain::access::grant::{ManageDeployments, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters;
use crate::domain::error::{Error, Result};
use crate::domain::imports;
use crate::domain::releases::current;
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::DeploymentPath;

#[derive(Template)]
#[template(path = "dashboard/deployment_settings.html")]
struct Settings<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    deployment: &'p str,
    page: String,
    active: i64,
    active_text: String,
    /// Whether an old server's counts are shown: they stay.
    has_old_counts: bool,
    rename: &'p Form,
    clear: &'p Form,
    delete: &'p Form,
}

/// What a form on the page does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Rename,
    Clear,
    Delete,
}

/// The forms, one of them perhaps refused.
struct Forms([Form; 3]);

impl Forms {
    fn of(deployment: &str) -> Self {
        let typed = |name, label| Form::of([Field::text(name, label)]);
        Self([
            Form::of([Field::text("name", "Name").value(deployment)]),
            typed("clearName", "Type the deployment's name to clear its history"),
            typed("deleteName", "Type the deployment's name to delete it"),
        ])
    }

    /// Puts a refused form in its place.
    fn with(mut self, action: Action, form: Form) -> Self {
        if let Some(place) = self.0.get_mut(action as usize) {
            *place = form;
        }
        self
    }
}

async fn page(
    app: &AppState,
    frame: &Frame,
    (grant, metrics): (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
    deployment: &str,
    forms: &Forms,
) -> Result<Response> {
    let name = grant.called();
    let mut tx = app.db.read().await?;
    let (found, _) = current::get(&mut tx, grant, deployment).await?;
    let active = counters::list(&mut tx, metrics, deployment).await?.iter().map(|row| row.active).sum();
    let level = imports::starting_level(&mut tx, metrics, deployment).await?;
    drop(tx);
    let page = place::deployment(name, deployment);
    let [rename, clear, delete] = &forms.0;
    let shown = Settings {
        frame,
        crumbs: place::crumbs(frame, &[(name, place::app(name)), (deployment, page.clone())]),
        deployment: &found.name,
        page: frame.path(&page),
        active,
        active_text: view::grouped(active),
        has_old_counts: level.is_some_and(|level| !level.counts.is_empty()),
        rename,
        clear,
        delete,
    };
    match forms.0.iter().find(|form| form.is_refused()) {
        Some(refused) => refused.page(&shown),
        None => view::page(&shown),
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<ManageDeployments>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    page(&app, &frame, (&grant, &metrics), &deployment, &Forms::of(&deployment)).await
}

/// Does what the form asks for. Returns the page to go to, and what to say there.
async fn act(
    app: &AppState,
    right: &AppGrant<ManageDeployments>,
    deployment: &str,
    action: Action,
    sent: &Fields,
) -> Result<(String, String)> {
    let name = right.called();
    match action {
        Action::Rename => {
            let new = sent.text("name").trim().parse::<Name>().map_err(|error| Error::invalid("name", error))?;
            let (renamed, _) = current::rename(app, right, deployment, &new).await?;
            Ok((place::deployment(name, &renamed.name), format!("The deployment is now called {}.", renamed.name)))
        }
        Action::Clear => {
            current::clear(app, right, deployment).await?;
            Ok((place::deployment(name, deployment), format!("Cleared the history of {deployment}.")))
        }
        Action::Delete => {
            current::delete(app, right, deployment).await?;
            Ok((place::app(name), format!("Deleted the deployment {deployment}.")))
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageDeployments>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    sent: Fields,
) -> Result<Response> {
    let (action, typed) = if sent.has("clearName") {
        (Action::Clear, Some(sent.text("clearName")))
    } else if sent.has("deleteName") {
        (Action::Delete, Some(sent.text("deleteName")))
    } else {
        (Action::Rename, None)
    };
    let forms = Forms::of(&deployment);
    if typed.is_some_and(|typed| typed.trim() != deployment) {
        let mut form = forms.0.get(action as usize).cloned().unwrap_or_default();
        form.keep(&sent);
        let refused = form.refuse_field(StatusCode::BAD_REQUEST, "This is not the deployment's name.", "No changes were made.");
        return page(&app, &frame, (&grant, &metrics), &deployment, &forms.with(action, refused)).await;
    }
    match act(&app, &right, &deployment, action, &sent).await {
        Ok((page, text)) => frame.redirect_with_flash(&page, &Flash::good(text)),
        Err(error) => {
            let mut form = forms.0.get(action as usize).cloned().unwrap_or_default();
            form.keep(&sent);
            let refused = form.refuse(error)?;
            page(&app, &frame, (&grant, &metrics), &deployment, &forms.with(action, refused)).await
        }
    }
}
