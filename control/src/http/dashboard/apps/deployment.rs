//! A deployment's page: the current release, its releases with search and pages, how devices adopt them, and the key for the SDK.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::FieldErrors;
use shared::text::shell;

use super::audience::audience;
use super::failing;
use super::first_steps::{FIRST_UPDATE, FirstSteps};
use super::metrics::{self, RANGES, RangeLink, Row};
use super::place::{self, Link, Section};
use super::release::Summary;
use crate::domain::access::grant::{ManageDeployments, ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters::{self, repo::CounterRow};
use crate::domain::counting::history::days::DayRange;
use crate::domain::counting::history::summary;
use crate::domain::error::Result;
use crate::domain::imports;
use crate::domain::releases::current;
use crate::domain::releases::listing::{self, Page};
use crate::domain::releases::outlook::Outlook;
use crate::domain::releases::repo::{ListFilter, ReleaseRow};
use crate::domain::releases::service::label;
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::http::extract::{DeploymentPath, encode_segment};
use crate::infra::loopback::loopback_port;

/// The releases of a page.
const PAGE_SIZE: u8 = 25;
/// The days of the chart, unless others are chosen.
const DEFAULT_DAYS: i64 = 30;

/// A release in the list.
struct Listed {
    release: Summary,
    /// Whether some devices get it.
    is_live: bool,
    active: String,
    failure_rate: String,
    /// Whether it fails on many devices.
    is_failing: bool,
}

/// That the newest release that is not disabled fails on many devices.
struct Warning {
    text: String,
    label: String,
    page: String,
    /// Whether no newer one is disabled: then a rollback to an earlier one helps.
    is_newest: bool,
}

#[derive(Template)]
#[template(path = "dashboard/deployment.html")]
#[expect(clippy::struct_excessive_bools, reason = "what a template shows")]
struct DeploymentPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    app: &'p str,
    name: &'p str,
    page: String,
    metrics: String,
    current: Option<Summary>,
    /// Whether its history was cleared: then devices may run releases that no longer exist.
    was_cleared: bool,
    /// The server that it was imported from, until a device here runs a release: its address, and as an option for a shell.
    imported_from: Option<(String, String)>,
    audience: String,
    /// How many devices run the current release.
    running: String,
    /// That what devices get fails on many of them.
    warning: Option<Warning>,
    /// Whether there is more than one release.
    has_several: bool,
    /// Whether there is an earlier release for the target version of the current one.
    can_roll_back: bool,
    /// The next step of an unfinished rollout, in percent.
    next_step: Option<i64>,
    /// Where the current release can be promoted.
    promotion: String,
    releases: Vec<Listed>,
    search: String,
    /// The next page of the list.
    older: Option<String>,
    /// Whether this is not the first page.
    is_later: bool,
    ranges: Vec<RangeLink>,
    curves: Vec<String>,
    adoption: Vec<Row>,
    can_release: bool,
    can_manage: bool,
    /// `None` if the caller may not see it.
    key: Option<String>,
    server: &'p str,
    /// The options of commands that name the app and the deployment, for a shell.
    options: String,
    /// What has happened on the way to the first update, until it is installed.
    first_steps: Option<FirstSteps>,
    /// Whether devices of another deployment of the app have reported: then the app has the SDK, and its people have the CLI.
    has_sdk: bool,
    /// The port of the server's address if only this computer reaches it, as in a trial.
    local_port: Option<u16>,
    /// Whether it was installed while the page waited for it.
    has_first_update: bool,
}

/// The search, the label number after which the page starts, and the days of the chart. What is not a number starts at the newest release; other days than
/// those of the links are the default.
fn read(query: &str) -> (String, Option<i64>, i64) {
    let [search, before, days] = parameters(query, ["search", "before", "days"], &mut FieldErrors::default());
    let before = before.and_then(|text| text.parse::<u32>().ok()).map(i64::from);
    let days = days.and_then(|text| text.parse().ok()).filter(|days| RANGES.contains(days)).unwrap_or(DEFAULT_DAYS);
    (search.map(Cow::into_owned).unwrap_or_default(), before, days)
}

/// The next step of the newest release's rollout, in percent, among those that the slider has (`ui::steps`). `None` if it is finished or disabled.
pub(super) fn next_step(newest: &Summary) -> Option<i64> {
    [5, 10, 25, 50, 100].into_iter().find(|step| !newest.is_disabled && *step > newest.rollout)
}

/// Where a release is promoted. Staging is there to test what goes to Production.
pub(super) fn promotion(release: &Summary, deployment: &str) -> String {
    let destination = if deployment == "Staging" { "?destination=Production" } else { "" };
    format!("{}/promote{destination}", release.page)
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics_grant: AppGrant<ReadMetrics>,
    DeploymentPath(name): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let (search, after, days) = read(query.as_deref().unwrap_or_default());
    let wanted = Page {
        limit: PAGE_SIZE,
        after,
        filter: ListFilter::default(),
        search: Some(search.trim().to_lowercase()).filter(|text| !text.is_empty()),
    };
    // Before the transaction, so that searches do not occupy the connections of others.
    let _turn = match wanted.search {
        Some(_) => Some(app.front.search_turns.take(grant.account()).await?),
        None => None,
    };
    let outlook = Outlook::read(&app.db, &app.front.outlook_turns, &grant, &name).await?;
    let mut tx = app.db.read().await?;
    let (deployment, newest) = current::get(&mut tx, &grant, &name).await?;
    let (rows, next) = listing::list(&mut tx, &grant, &name, &wanted).await?;
    let counters = counters::list(&mut tx, &metrics_grant, &name).await?;
    let first_steps =
        FirstSteps::of(&app, &frame, &mut tx, (&grant, &metrics_grant), &name, deployment.key.as_deref(), newest.as_ref()).await?;
    let level = imports::starting_level(&mut tx, &metrics_grant, &name).await?;
    let is_installed = counters.iter().any(|row| row.installed > 0);
    // What was in use before has the SDK, whether it was on this server or on the old one.
    let is_waiting = !deployment.was_cleared && level.is_none() && first_steps.as_ref().is_some_and(|steps| !steps.is_installed);
    let has_sdk = is_waiting && counters::totals(&mut tx, &metrics_grant).await?.keys().any(|id| *id != deployment.id);
    drop(tx);
    let range = DayRange { from: Some(app.now().utc_day().plus_days(1 - days)), to: None };
    let history = summary::read(&app, &metrics_grant, &name, &range).await?;
    let called = grant.called();
    let summary = |row: &ReleaseRow| Summary::of(&frame, (called, &name), row);
    let current = newest.map(|newest| summary(&newest.row)).transpose()?;
    let page = frame.path(&place::deployment(called, &name));
    let counted = |label: &str| counters.iter().find(|row| row.place == label);
    let live = outlook.live();
    let listed = |row: &ReleaseRow| -> Result<Listed> {
        let release = summary(row)?;
        let CounterRow { active, installed, failed, .. } = counted(&release.label).cloned().unwrap_or_default();
        let is_live = !row.is_disabled && label(row.label).is_ok_and(|label| live.contains(&label));
        let failure_rate = view::share(failed, installed.saturating_add(failed));
        Ok(Listed { release, is_live, active: view::grouped(active), failure_rate, is_failing: failing::is_failing(installed, failed) })
    };
    let audience = current.as_ref().map(|current| audience(current, &outlook)).transpose()?.unwrap_or_default();
    let warning = outlook.newest_enabled().and_then(|served| {
        let label = served.to_string();
        let text = counted(&label).and_then(|counts| failing::warning(&label, counts.installed, counts.failed))?;
        let page = frame.path(&place::release(called, &name, served));
        Some(Warning { text, page, is_newest: outlook.newest() == Some(served), label })
    });
    let running = current.as_ref().map(|current| {
        let active = counted(&current.label).map_or(0, |counts| counts.active);
        view::sentence(&format!("{} {} now", view::devices_run(active), current.label))
    });
    let ranges = RANGES.map(|range| RangeLink {
        text: metrics::length(range),
        address: format!("{page}?days={range}#adoption"),
        is_current: range == days,
    });
    let has_first_update = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes()).any(|(given, _)| given == FIRST_UPDATE);
    view::page(&DeploymentPage {
        has_first_update: has_first_update && first_steps.as_ref().is_some_and(|steps| steps.is_installed),
        options: format!("{} {}", shell::option("--app", called), shell::option("--deployment", &name)),
        ranges: ranges.into(),
        curves: metrics::curves(&history),
        adoption: metrics::adoption(&history),
        crumbs: place::crumbs(&frame, &[(called, place::app(called))]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        app: called,
        name: &name,
        metrics: format!("{page}/metrics"),
        audience,
        running: running.unwrap_or_default(),
        warning,
        has_several: outlook.count() > 1,
        can_roll_back: outlook.has_earlier(),
        next_step: current.as_ref().and_then(next_step),
        promotion: current.as_ref().map(|current| promotion(current, &name)).unwrap_or_default(),
        releases: rows.iter().map(listed).collect::<Result<_>>()?,
        current,
        was_cleared: deployment.was_cleared,
        imported_from: level
            .filter(|_| !is_installed && !deployment.was_cleared)
            .map(|level| (level.source.clone(), shell::option("--from", &level.source))),
        older: next.map(|next| format!("{page}?search={}&before={next}#releases", encode_segment(&search))),
        search,
        page,
        is_later: after.is_some(),
        can_manage: grant.also::<ManageDeployments>(),
        can_release: grant.also::<ManageReleases>(),
        key: deployment.key,
        first_steps: first_steps.filter(|_| is_waiting),
        has_sdk,
        local_port: loopback_port(&app.settings.base_url),
        server: &app.settings.base_url,
        frame: &frame,
    })
}
