//! The dashboard's first page: the apps of the account with what runs where, or how to get to the first one.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::FieldErrors;
use shared::keys::Name;
use shared::time::UtcDay;

use super::failing;
use super::place;
use super::release::Summary;
use super::trend::Trend;
use crate::domain::access::listing::{self, NamedApp};
use crate::domain::access::{AppCreator, DashboardSession, Role};
use crate::domain::apps::overview::{self, AppOverview, DeploymentOverview, Overview, Wanted};
use crate::domain::apps::service::{self, NewApp};
use crate::domain::counting::counters::Totals;
use crate::domain::error::{Error, Result};
use crate::domain::releases::repo::{LabeledRow, ReleaseRow};
use crate::domain::releases::service::label;
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::shared_apps::Acceptance;
use crate::http::dashboard::view;
use crate::http::extract::encode_segment;
use crate::http::extract::query::parameters;
use crate::infra::dates::RelativeTime;

/// The apps in the menu that switches between them.
const SWITCHED: usize = 20;
/// Those of them that the visitor has not accepted: anyone can share such apps.
const SWITCHED_UNACCEPTED: usize = 5;

/// A deployment in the list.
struct Deployment {
    name: String,
    page: String,
    metrics: String,
    /// The newest release that is not disabled.
    current: Option<Summary>,
    /// A newer one that is disabled.
    disabled: Option<Summary>,
    active: String,
    /// How often the current release failed; `None` until a device has tried it.
    failures: Option<String>,
    /// That it fails on many devices.
    warning: Option<String>,
    trend: Option<Trend>,
}

/// An app in the list.
struct Item {
    name: String,
    page: String,
    role: &'static str,
    /// Whose it is or was, where that is someone else: words, and an address that follows them.
    whose: Option<(&'static str, String)>,
    /// Where it is accepted, while that is waiting.
    acceptance: Option<Acceptance>,
    deployments: Vec<Deployment>,
    /// The number of its other deployments.
    others: usize,
    created: RelativeTime,
    /// What the search field finds before it is sent: the name and the current releases.
    find: String,
}

impl Item {
    fn of(frame: &Frame, days: (UtcDay, UtcDay), AppOverview { app, deployments, others }: AppOverview) -> Result<Self> {
        let deployment = |one: DeploymentOverview| -> Result<Deployment> {
            let page = place::deployment(&app.name, &one.name);
            let Totals { active, installed, failed, .. } = one.totals;
            let summary = |row: &ReleaseRow| Summary::of(frame, (&app.name, &one.name), row);
            let current = one.enabled.as_ref().map(summary).transpose()?;
            let disabled = one.newest.as_ref().filter(|row| row.is_disabled).map(summary).transpose()?;
            let tried = installed.saturating_add(failed);
            let counted = current.as_ref().filter(|_| tried > 0);
            let failures = |release: &Summary| {
                format!(
                    "{} failed on {} ({} of {})",
                    release.label,
                    view::share(failed, tried),
                    view::grouped(failed),
                    view::grouped(tried)
                )
            };
            Ok(Deployment {
                failures: counted.map(failures),
                warning: current.as_ref().and_then(|release| failing::warning(&release.label, installed, failed)),
                metrics: frame.path(&format!("{page}/metrics")),
                page: frame.path(&page),
                current,
                disabled,
                active: view::active_devices(active),
                trend: Trend::of(days, &one.active),
                name: one.name,
            })
        };
        let deployments = deployments.into_iter().map(deployment).collect::<Result<Vec<_>>>()?;
        // A collaborator who accepted the app can also receive it by a transfer.
        let is_waiting = app.owner.is_some() && (!app.is_accepted || app.role == Role::Owner);
        let labels = deployments.iter().flat_map(|one| one.current.iter().chain(&one.disabled)).map(|release| release.label.as_str());
        Ok(Self {
            page: frame.path(&place::app(&app.name)),
            role: app.role.as_str(),
            acceptance: is_waiting.then(|| Acceptance::of(frame, &app.id, app.role)),
            whose: match (app.owner, app.role) {
                (Some(sender), Role::Owner) => Some(("Transferred to you by ", sender)),
                (Some(owner), _) => Some(("Owner: ", owner)),
                (None, Role::Owner) => None,
                (None, _) => Some(("Transferred, and not accepted yet", String::new())),
            },
            created: RelativeTime::of(app.created_time, frame.now()),
            find: std::iter::once(app.name.as_str()).chain(labels).collect::<Vec<_>>().join(" "),
            others,
            deployments,
            name: app.name,
        })
    }
}

/// A release that the search found.
struct Found {
    app: String,
    deployment: String,
    label: String,
    page: String,
    target: String,
    released: RelativeTime,
    released_by: String,
}

impl Found {
    fn of(frame: &Frame, app: String, row: LabeledRow) -> Result<Self> {
        let label = label(row.label)?;
        Ok(Self {
            page: frame.path(&place::release(&app, &row.deployment, label)),
            label: label.to_string(),
            target: row.app_version,
            released: RelativeTime::of(row.upload_time, frame.now()),
            released_by: row.released_by,
            deployment: row.deployment,
            app,
        })
    }
}

#[derive(Template)]
#[template(path = "dashboard/apps.html")]
struct ListPage<'p> {
    frame: &'p Frame,
    has_apps: bool,
    apps: Vec<Item>,
    releases: Vec<Found>,
    search: String,
    /// The number of the page, from 1, and of pages.
    page: usize,
    pages: usize,
    previous: Option<String>,
    next: Option<String>,
    server: &'p str,
}

#[derive(Template)]
#[template(path = "dashboard/switch_app.html")]
struct SwitchPage<'p> {
    frame: &'p Frame,
    apps: Vec<Switch>,
    has_more: bool,
}

/// An app in the menu.
struct Switch {
    name: String,
    page: String,
    is_accepted: bool,
}

#[derive(Template)]
#[template(path = "dashboard/app_new.html")]
struct New<'p> {
    frame: &'p Frame,
    form: &'p Form,
}

/// The search and the number of the page. What is not a number is the first page.
fn read(query: &str) -> Wanted {
    let [search, page] = parameters(query, ["q", "page"], &mut FieldErrors::default());
    let page = page.and_then(|text| text.parse::<u16>().ok()).map_or(0, |page| usize::from(page).saturating_sub(1));
    Wanted { search: search.map(Cow::into_owned).unwrap_or_default(), page }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    session: DashboardSession,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let wanted = read(query.as_deref().unwrap_or_default());
    let Overview { apps, page, pages, has_apps, days, releases } = overview::read(&app, &session, &wanted).await?;
    let list = frame.path("/");
    let address = |number: usize| format!("{list}?q={}&page={number}", encode_segment(&wanted.search));
    view::page(&ListPage {
        has_apps,
        apps: apps.into_iter().map(|app| Item::of(&frame, days, app)).collect::<Result<_>>()?,
        releases: releases.into_iter().map(|(app, row)| Found::of(&frame, app, row)).collect::<Result<_>>()?,
        page: page + 1,
        pages,
        previous: (page > 0).then(|| address(page)),
        next: (page + 1 < pages).then(|| address(page + 2)),
        search: wanted.search,
        server: &app.settings.base_url,
        frame: &frame,
    })
}

/// The apps that the header's menu shows; it fetches this page.
pub(super) async fn show_switch(State(app): State<AppState>, frame: Frame, session: DashboardSession) -> Result<Response> {
    let apps = listing::names(&mut app.db.read().await?, &session).await?;
    let count = apps.len();
    let accepted = apps.iter().filter(|app| app.is_accepted).count();
    let link = |NamedApp { name, is_accepted, .. }| Switch { page: frame.path(&place::app(&name)), name, is_accepted };
    let apps: Vec<_> = apps.into_iter().take(SWITCHED.min(accepted + SWITCHED_UNACCEPTED)).map(link).collect();
    let has_more = apps.len() < count;
    view::page(&SwitchPage { frame: &frame, apps, has_more })
}

fn form() -> Form {
    Form::of([Field::text("name", "Name").hint("Such as MyApp-iOS. Android and iOS need an app each.").focused()])
}

pub(super) async fn show_new(frame: Frame, _session: DashboardSession, _caller: AppCreator) -> Result<Response> {
    let form = form();
    form.page(&New { frame: &frame, form: &form })
}

pub(super) async fn create(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    caller: AppCreator,
    sent: Fields,
) -> Result<Response> {
    let created = match sent.text("name").trim().parse::<Name>() {
        Ok(name) => service::create(&app, &caller, NewApp { name, has_no_deployments: false }).await,
        Err(error) => Err(Error::invalid("name", error)),
    };
    match created {
        Ok(created) => frame.redirect_with_flash(&place::app(&created.name), &Flash::good(format!("Created the app {}.", created.name))),
        Err(error) => {
            let mut form = form();
            form.keep(&sent);
            let form = form.refuse(error)?;
            form.page(&New { frame: &frame, form: &form })
        }
    }
}
