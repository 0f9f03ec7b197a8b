//! The steps to a deployment's first update, as they happen: the app starts, a release is published, a device downloads it, a device runs it. The part of
//! the deployment's page that asks for them every few seconds, and says what commonly goes wrong.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use shared::FieldErrors;
use shared::keys::{DeploymentKey, Label};
use shared::version::{AppVersion, Range};

use super::place;
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters::{self, repo::CounterRow};
use crate::domain::deployments::first_checks;
use crate::domain::error::{Error, Result};
use crate::domain::releases::current;
use crate::domain::releases::service::{Release, label};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::http::extract::{DeploymentPath, encode_segment};
use crate::infra::db::ReadTx;

/// The parameter of the deployment's page that says that its first update was just installed.
pub(super) const FIRST_UPDATE: &str = "first-update";
/// What htmx answers by reloading the page.
const REFRESH: HeaderName = HeaderName::from_static("hx-refresh");
/// What htmx answers by opening another page.
const REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

/// A step.
struct Step {
    is_done: bool,
    /// `Done`, `Waiting` for the next one, `Later` for those after it.
    state: &'static str,
    text: String,
}

/// What keeps a device from the update, and where to fix it.
struct Hindrance {
    text: String,
    /// The label and address of a link.
    link: Option<(String, String)>,
}

/// The longest version that is shown. A longer one may be a message.
const LONGEST_VERSION: usize = 30;

/// The steps.
#[derive(Template)]
#[template(path = "dashboard/first_steps.html")]
pub(super) struct FirstSteps {
    address: String,
    steps: Vec<Step>,
    hindrances: Vec<Hindrance>,
    /// Where to see what a device with the version that started gets, once there is a release.
    check: Option<String>,
    /// The current release, or `none`.
    current: String,
    /// The version ranges that the first release is suggested for.
    pub(super) suggested: String,
    /// Whether a device runs a release: then there is nothing more to wait for.
    pub(super) is_installed: bool,
}

impl FirstSteps {
    /// What has happened. `None` for callers who may not see the key: they cannot set up an app.
    pub(super) async fn of(
        app: &AppState,
        frame: &Frame,
        tx: &mut ReadTx,
        (grant, metrics): (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
        deployment: &str,
        key: Option<&str>,
        newest: Option<&Release>,
    ) -> Result<Option<Self>> {
        let Some(key) = key.and_then(|key| DeploymentKey::try_from(key.to_owned()).ok()) else { return Ok(None) };
        let rows = counters::list(tx, metrics, deployment).await?;
        let sum = |of: fn(&CounterRow) -> i64| rows.iter().map(of).sum::<i64>();
        let (downloaded, installed) = (sum(|row| row.downloaded), sum(|row| row.installed));
        // Any report shows a start. Where this server answers checks itself, the first check shows one as well.
        // Anyone with the key, which is in the app, can report any text: only what looks like a version is shown.
        let is_version = |place: &str| place.len() <= LONGEST_VERSION && AppVersion::parse(place).is_ok();
        let mut used: Vec<&CounterRow> = rows.iter().filter(|row| row.active > 0 && is_version(&row.place)).collect();
        // The most common one first, so that a single report does not change what is suggested.
        used.sort_by_key(|row| Reverse(row.active));
        let versions: Vec<&str> = used.iter().map(|row| row.place.as_str()).collect();
        let has_started = !rows.is_empty() || first_checks::is_noted(tx, &key).await?;
        if !has_started {
            app.front.awaited_checks.wait_for(grant.account(), &key, app.now());
        }
        let current = newest.map(|newest| label(newest.row.label)).transpose()?;
        let started =
            versions.first().map_or_else(|| "The app started".to_owned(), |version| format!("The app started: version {version}"));
        let is_disabled = newest.is_some_and(|newest| newest.row.is_disabled);
        let published = current.filter(|_| !is_disabled).map(|label| {
            let wait = if downloaded > 0 { "" } else { ": devices get it within a minute" };
            format!("{label} is published{wait}")
        });
        let release = current.map_or_else(|| "The first release".to_owned(), |label| format!("The first release: enable {label}"));
        let mut steps = [
            (has_started.then_some(started), "The app's first start with the SDK"),
            (published, release.as_str()),
            ((downloaded > 0).then(|| "A device downloaded the update".to_owned()), "The first download: start the app again"),
            ((installed > 0).then(|| "A device runs the update".to_owned()), "The first install: close the app, and start it once more"),
        ]
        .map(|(done, open)| Step {
            is_done: done.is_some(),
            state: if done.is_some() { "Done" } else { "Later" },
            text: done.unwrap_or_else(|| open.to_owned()),
        });
        if let Some(next) = steps.iter_mut().find(|step| !step.is_done) {
            next.state = "Waiting";
        }
        let page = place::deployment(grant.called(), deployment);
        let current = current.map_or_else(|| "none".to_owned(), |label| label.to_string());
        let query = versions.first().map(|version| format!("?appVersion={}", encode_segment(version))).unwrap_or_default();
        Ok(Some(Self {
            hindrances: hindrances(frame, grant, deployment, newest, &rows, &versions)?,
            check: newest.map(|_| frame.path(&format!("{page}/check{query}"))),
            address: frame.path(&format!("{page}/first-steps?release={current}")),
            suggested: suggested(&versions),
            steps: steps.into(),
            is_installed: installed > 0,
            current,
        }))
    }
}

/// The range that includes the version that started, or an example.
fn suggested(versions: &[&str]) -> String {
    let full = versions.iter().find_map(|version| AppVersion::parse(version).ok()).map(|version| version.version().clone());
    let full = full.filter(|version| version.pre.is_empty() && version.build.is_empty());
    full.map_or_else(|| "^1.0.0".to_owned(), |version| format!("^{version}"))
}

/// What keeps a device from its first update: a release for other versions, and one that fails.
fn hindrances(
    frame: &Frame,
    grant: &AppGrant<ReadApp>,
    deployment: &str,
    newest: Option<&Release>,
    rows: &[CounterRow],
    versions: &[&str],
) -> Result<Vec<Hindrance>> {
    let mut found = Vec::new();
    if rows.iter().any(|row| row.installed > 0) {
        return Ok(found);
    }
    let failed = rows.iter().filter(|row| row.failed > 0).filter_map(|row| Label::try_from(row.place.as_str()).ok()).max();
    if let Some(label) = failed {
        let page = frame.path(&place::release(grant.called(), deployment, label));
        let text = format!("A device could not run {label}, and went back to what it ran before.");
        found.push(Hindrance { text, link: Some((format!("See {label}"), page)) });
    }
    let Some(newest) = newest.map(|newest| &newest.row) else { return Ok(found) };
    let label = label(newest.label)?;
    let edit = || {
        let page = frame.path(&format!("{}/edit", place::release(grant.called(), deployment, label)));
        grant.also::<ManageReleases>().then_some(page)
    };
    let parsed: Vec<_> = versions.iter().filter_map(|version| AppVersion::parse(version).ok()).collect();
    let gets = |range: &Range| parsed.iter().any(|version| range.satisfies(version.version()));
    let range = Range::parse(&newest.app_version).ok();
    if let (Some(range), Some(version)) = (range, parsed.first())
        && !gets(&range)
    {
        let text =
            format!("{label} is for app version {}, but your device runs {}: it does not get {label}.", newest.app_version, version.sent());
        found.push(Hindrance { text, link: edit().map(|page| ("Change the target version".to_owned(), page)) });
    }
    if newest.is_disabled {
        let text = format!("{label} is disabled: no device gets it.");
        found.push(Hindrance { text, link: edit().map(|page| ("Edit release".to_owned(), page)) });
    }
    Ok(found)
}

/// The part that is updated. Where the rest of the page has changed as well, it says so to htmx, which then loads the page: when another release is the
/// current one, and when the first update is installed.
pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let [shown] = parameters(query.as_deref().unwrap_or_default(), ["release"], &mut FieldErrors::default());
    let mut tx = app.db.read().await?;
    let (found, newest) = current::get(&mut tx, &grant, &deployment).await?;
    let steps = FirstSteps::of(&app, &frame, &mut tx, (&grant, &metrics), &deployment, found.key.as_deref(), newest.as_ref()).await?;
    drop(tx);
    let page = place::deployment(grant.called(), &deployment);
    let Some(steps) = steps else { return frame.redirect(&page) };
    let mut response = view::page(&steps)?;
    if steps.is_installed {
        let address = HeaderValue::try_from(frame.path(&format!("{page}?{FIRST_UPDATE}"))).map_err(Error::internal)?;
        response.headers_mut().insert(REDIRECT, address);
    } else if shown.is_some_and(|shown| shown != steps.current) {
        response.headers_mut().insert(REFRESH, HeaderValue::from_static("true"));
    }
    Ok(response)
}
