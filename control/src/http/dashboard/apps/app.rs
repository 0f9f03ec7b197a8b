//! An app's page: its deployments side by side.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::collaborators::transferred;
use super::failing;
use super::place::{self, Link, Section};
use super::release::Summary;
use crate::domain::access::collaborators::{self, SharedRow};
use crate::domain::access::grant::{ManageDeployments, ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters::{self, Totals};
use crate::domain::error::Result;
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::{current, service};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::shared_apps::Acceptance;
use crate::http::dashboard::view;

/// A deployment in the list.
struct Item {
    name: String,
    page: String,
    metrics: String,
    /// The newest release that is not disabled.
    current: Option<Summary>,
    /// A newer one that is disabled.
    disabled: Option<Summary>,
    active: String,
    share: String,
    failure_rate: String,
    /// Whether the current release fails on many devices.
    is_failing: bool,
}

#[derive(Template)]
#[template(path = "dashboard/app.html")]
struct AppPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    app: &'p str,
    is_viewer: bool,
    /// Who the caller transferred it to, without acceptance yet, and where it is taken back.
    transferred: Option<(String, String)>,
    /// Where it is accepted, while that is waiting.
    acceptance: Option<Acceptance>,
    deployments: Vec<Item>,
    /// Where the first release begins, while there is none and for those who can release: the deployment for tests, if there is one.
    first: Option<String>,
    /// Where a deployment is created, for those who may.
    new: Option<String>,
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
) -> Result<Response> {
    let name = grant.called();
    let mut tx = app.db.read().await?;
    let deployments = current::list(&mut tx, &grant).await?;
    let newest = deployments.iter().filter_map(|(deployment, newest)| Some((deployment.id.clone(), newest.as_ref()?.row.clone())));
    let mut enabled = service::enabled(&mut tx, newest.collect()).await?;
    let mut totals = counters::totals(&mut tx, &metrics).await?;
    let shared = collaborators::find_shared(&mut tx, grant.account(), grant.app()).await?;
    let transferred = transferred(&mut tx, &frame, &grant).await?;
    drop(tx);
    let mut items = Vec::new();
    for (deployment, newest) in deployments {
        let Totals { active, current, installed, failed } = totals.remove(&deployment.id).unwrap_or_default();
        let page = place::deployment(name, &deployment.name);
        let summary = |row: &ReleaseRow| Summary::of(&frame, (name, &deployment.name), row);
        let current_release = enabled.remove(&deployment.id).as_ref().map(summary).transpose()?;
        items.push(Item {
            is_failing: current_release.as_ref().is_some_and(|release| failing::warning(&release.label, installed, failed).is_some()),
            disabled: newest.filter(|newest| newest.row.is_disabled).map(|newest| summary(&newest.row)).transpose()?,
            metrics: frame.path(&format!("{page}/metrics")),
            page: frame.path(&page),
            current: current_release,
            active: view::grouped(active),
            share: view::share(current, active),
            failure_rate: view::share(failed, installed.saturating_add(failed)),
            name: deployment.name,
        });
    }
    let is_empty = items.iter().all(|one| one.current.is_none() && one.disabled.is_none());
    let start = items.iter().find(|one| one.name == "Staging").or(items.first()).filter(|_| is_empty && grant.also::<ManageReleases>());
    view::page(&AppPage {
        first: start.map(|one| one.page.clone()),
        crumbs: place::crumbs(&frame, &[]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        new: grant.also::<ManageDeployments>().then(|| frame.path(&format!("{}/new-deployment", place::app(name)))),
        transferred,
        acceptance: shared.filter(SharedRow::is_waiting).map(|row| Acceptance::of(&frame, &row.id, row.permission)),
        is_viewer: !grant.also::<ManageReleases>(),
        frame: &frame,
        app: name,
        deployments: items,
    })
}
