//! The form that uploads a release. The browser sends it straight to the upload address ([`crate::http::dashboard::uploads`]).

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use shared::keys::Label;
use shared::version::AppVersion;

use super::place::{self, Link};
use super::{once, release::Summary};
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::accounts;
use crate::domain::counting::counters;
use crate::domain::counting::counters::repo::CounterRow;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::current;
use crate::http::AppState;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::headers::Needs;
use crate::http::dashboard::{uploads, view};
use crate::http::extract::DeploymentPath;

/// The app versions that the form suggests.
const MAX_SUGGESTED: usize = 5;

/// An app version that devices report.
struct Reported {
    version: String,
    active: String,
}

#[derive(Template)]
#[template(path = "dashboard/upload.html")]
struct UploadPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: Form,
    deployment: &'p str,
    page: String,
    /// Where the form is sent.
    to: String,
    ticket: String,
    once: String,
    current: Option<Summary>,
    /// Whether the current release's rollout has to be finished first.
    is_unfinished: bool,
    active: String,
    /// How many of them run a release: what version their app has is not counted.
    on_releases: Option<String>,
    reported: Vec<Reported>,
    largest: i64,
    largest_text: String,
}

/// The page, below the dashboard's base path.
pub fn page_of(app: &str, deployment: &str) -> String {
    format!("{}/upload", place::deployment(app, deployment))
}

/// The fields, besides those that the template writes itself.
pub fn form(target: &str, rollout: &str) -> Form {
    Form::of([
        Field { kind: "file", ..Field::text("package", "Bundle") },
        Field::text("appVersion", "Target version")
            .hint("The app versions that can run the bundle, such as ^1.2.0, or * for all. It decides which devices get it.")
            .value(target),
        Field::prose("description", "Description").optional(),
        Field::text("rollout", "Rollout in percent")
            .hint("Start small, then raise it. 100 gives it to all devices at once.")
            .value(rollout),
    ])
}

/// The versions of app binaries that devices report, the most common first.
fn reported(counters: &[CounterRow]) -> Vec<(AppVersion, i64)> {
    let version = |row: &CounterRow| AppVersion::parse(&row.place).ok().map(|version| (version, row.active));
    let mut found: Vec<_> = counters.iter().filter(|row| row.active > 0).filter_map(version).collect();
    found.sort_by_key(|(version, active)| (std::cmp::Reverse(*active), version.sent().to_owned()));
    found.truncate(MAX_SUGGESTED);
    found
}

/// The target version that the form begins with: that of the current release, or else everything compatible with what most devices report. Anyone with the
/// deployment key can report versions, so reports never replace what people chose: the page shows them next to it.
fn suggestion(current: Option<&str>, reported: &[(AppVersion, i64)]) -> String {
    let most = reported.first().map(|(most, _)| format!("^{}", most.sent()));
    current.map(str::to_owned).or(most).unwrap_or_default()
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    headers: HeaderMap,
) -> Result<Response> {
    let name = grant.called();
    let mut tx = app.db.read().await?;
    let (found, newest) = current::get(&mut tx, &grant, &deployment).await?;
    let counters = counters::list(&mut tx, &metrics, &deployment).await?;
    let largest = accounts::repo::max_upload_bytes(&mut tx, right.namespace()).await?.ok_or(Error::NotFound(Thing::App))?;
    drop(tx);
    let active = counters.iter().map(|row| row.active).sum();
    let on_releases = counters.iter().filter(|row| Label::try_from(row.place.as_str()).is_ok()).map(|row| row.active).sum::<i64>();
    let reported = reported(&counters);
    let current = newest.map(|newest| Summary::of(&frame, (name, &deployment), &newest.row)).transpose()?;
    let target = suggestion(current.as_ref().map(|current| current.target.as_str()), &reported);
    let page = place::deployment(name, &deployment);
    let to = uploads::address(&app, frame.site());
    let shown = UploadPage {
        crumbs: place::crumbs(&frame, &[(name, place::app(name)), (&deployment, page.clone())]),
        form: form(&target, "100"),
        deployment: &found.name,
        page: frame.path(&page),
        ticket: uploads::ticket(&app, frame.site(), &headers, &right, &found)?,
        once: once::new(&app)?,
        active: view::sentence(&view::active_devices(active)),
        on_releases: (on_releases > 0).then(|| view::devices_run(on_releases)),
        reported: reported
            .into_iter()
            .map(|(version, active)| Reported { version: version.sent().to_owned(), active: view::grouped(active) })
            .collect(),
        largest,
        largest_text: view::limited_bytes(largest),
        is_unfinished: current.as_ref().is_some_and(Summary::is_unfinished),
        current,
        frame: &frame,
        to,
    };
    let needs = Needs { uploads: Some(uploads::origin(&app)), ..Needs::default() };
    Ok(needs.put(view::page(&shown)?))
}
