//! The form that goes back to an earlier release.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::keys::Label;

use super::audience::if_disabled;
use super::once;
use super::place::{self, Link};
use super::release::Summary;
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters;
use crate::domain::error::{Error, Result};
use crate::domain::releases::listing::{self, Page};
use crate::domain::releases::outlook::Outlook;
use crate::domain::releases::repo::ListFilter;
use crate::domain::releases::rollback;
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::Form;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::DeploymentPath;

/// The releases to choose from, the current one not counted. `updraft release rollback` reaches older ones.
const MAX_TARGETS: u8 = 20;

#[derive(Template)]
#[template(path = "dashboard/rollback.html")]
struct RollbackPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    page: String,
    deployment: &'p str,
    current: Option<Summary>,
    /// What happens to the devices that run the current release now.
    running: String,
    /// What devices get if the current release is disabled instead. `None` if it is.
    instead: Option<String>,
    targets: Vec<Summary>,
    chosen: String,
    /// Identifies the form, so that sending it twice rolls back once.
    once: String,
}

async fn page(
    app: &AppState,
    frame: &Frame,
    grants: (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
    deployment: &str,
    form: &Form,
    chosen: &str,
) -> Result<Response> {
    let name = grants.0.called();
    let newest = Page { limit: MAX_TARGETS + 1, after: None, filter: ListFilter::default(), search: None };
    let outlook = Outlook::read(&app.db, &app.front.outlook_turns, grants.0, deployment).await?;
    let mut tx = app.db.read().await?;
    let (rows, _) = listing::list(&mut tx, grants.0, deployment, &newest).await?;
    let counters = counters::list(&mut tx, grants.1, deployment).await?;
    drop(tx);
    let mut releases = rows.iter().map(|row| Summary::of(frame, (name, deployment), row)).collect::<Result<Vec<_>>>()?.into_iter();
    let current = releases.next();
    let targets: Vec<Summary> =
        releases.filter(|release| current.as_ref().is_some_and(|current| current.target == release.target)).collect();
    let runs_current = |row: &&counters::repo::CounterRow| current.as_ref().is_some_and(|current| current.label == row.place);
    let active = counters.iter().find(runs_current).map_or(0, |row| row.active);
    let chosen = if chosen.is_empty() { targets.first().map(|first| first.label.clone()).unwrap_or_default() } else { chosen.to_owned() };
    let running = |current: &Summary| match active {
        0 => format!("No device runs {} now.", current.label),
        1 => format!("The device that runs {} now will download it.", current.label),
        _ => format!("The {} devices that run {} now will download it.", view::grouped(active), current.label),
    };
    let enabled = current.as_ref().filter(|current| !current.is_disabled);
    let instead = match enabled {
        Some(current) => Some(if_disabled(app, grants.0, current, &outlook).await?),
        None => None,
    };
    let page = place::deployment(name, deployment);
    form.page(&RollbackPage {
        frame,
        crumbs: place::crumbs(frame, &[(name, place::app(name)), (deployment, page.clone())]),
        form,
        page: frame.path(&page),
        deployment,
        running: current.as_ref().map(running).unwrap_or_default(),
        instead,
        current,
        targets,
        chosen,
        once: once::new(app)?,
    })
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    page(&app, &frame, (&grant, &metrics), &deployment, &Form::default(), "").await
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    sent: Fields,
) -> Result<Response> {
    let name = grant.called();
    let done = match Label::try_from(sent.text("targetRelease")) {
        Ok(target) => rollback::roll_back(&app, &right, &deployment, Some(target), once::read(&sent).as_ref()).await,
        Err(error) => Err(Error::invalid("targetRelease", error)),
    };
    match done {
        Ok(answer) => {
            let text = format!("Rolled back to {}. The new release is v{}.", sent.text("targetRelease"), answer.value.label);
            frame.redirect_with_flash(&place::deployment(name, &deployment), &Flash::good(text))
        }
        Err(error) => {
            let form = Form::default().refuse(error)?;
            page(&app, &frame, (&grant, &metrics), &deployment, &form, sent.text("targetRelease")).await
        }
    }
}
