//! A release's page: what it is, who gets it, what is in it, how it does, and what was done with it.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use shared::hash::BlobKey;
use shared::signature::download_url;

use super::audience::{audience, label_of};
use super::contents;
use super::deployment::{next_step, promotion};
use super::diffs;
use super::failing;
use super::place::{self, Link, Section};
use super::release_record::{Event, Point};
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::apps::events;
use crate::domain::counting::counters::{self, repo::CounterRow};
use crate::domain::counting::recent;
use crate::domain::diffs::listing;
use crate::domain::error::Result;
use crate::domain::releases::ReleaseMethod;
use crate::domain::releases::outlook::Outlook;
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::service::{self, label};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::{DeploymentPath, LabelPath};
use crate::infra::dates::RelativeTime;

/// The audit events that the page shows.
const MAX_EVENTS: u8 = 50;

/// How long a release's page says that devices will get it soon, in milliseconds: edges follow within a minute.
const FRESH: i64 = 2 * 60_000;

/// A release as lists show it.
#[derive(Clone)]
pub(super) struct Summary {
    /// Its label.
    pub label: String,
    /// Its page.
    pub page: String,
    /// The app versions that it is for.
    pub target: String,
    /// The percent of devices that can get it.
    pub rollout: i64,
    /// Whether it is mandatory.
    pub is_mandatory: bool,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// Who released it.
    pub released_by: String,
    /// When.
    pub released: RelativeTime,
    /// How, in words.
    pub method: String,
    /// The description.
    pub description: String,
}

impl Summary {
    /// The beginning of the description.
    pub(super) fn note(&self) -> String {
        view::shortened(&self.description)
    }

    /// Whether more devices can get it later. No other release can follow the newest one as long as this holds.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.is_disabled && self.rollout < 100
    }
}

impl Summary {
    /// Converts a row. The release is in this app and deployment.
    pub(super) fn of(frame: &Frame, (app, deployment): (&str, &str), row: &ReleaseRow) -> Result<Self> {
        let label = label(row.label)?;
        Ok(Self {
            label: label.to_string(),
            page: frame.path(&place::release(app, deployment, label)),
            target: row.app_version.clone(),
            rollout: row.rollout.unwrap_or(100),
            is_mandatory: row.is_mandatory,
            is_disabled: row.is_disabled,
            released_by: row.released_by.clone(),
            released: RelativeTime::of(row.upload_time, frame.now()),
            method: method(row),
            description: row.description.clone().unwrap_or_default(),
        })
    }
}

/// How a release was created.
fn method(row: &ReleaseRow) -> String {
    let original = row.original_label.map(|label| format!("v{label}")).unwrap_or_default();
    match row.release_method {
        ReleaseMethod::Upload => "Upload".to_owned(),
        ReleaseMethod::Promote => format!("Promoted from {} of {}", original, row.original_deployment.as_deref().unwrap_or_default()),
        ReleaseMethod::Rollback => format!("Rollback to {original}: the same contents"),
    }
}

#[derive(Template)]
#[expect(clippy::struct_excessive_bools, reason = "a template's conditions")]
#[template(path = "dashboard/release.html")]
struct ReleasePage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    release: Summary,
    audience: String,
    /// Whether devices get it, and it may not have reached every edge yet.
    is_fresh: bool,
    /// Whether some devices get it.
    is_live: bool,
    /// That it fails on many devices, or did.
    warning: Option<String>,
    /// Whether it is the newest release, with another one to roll back to.
    can_roll_back: bool,
    /// Whether it is the newest one of several.
    is_newest_of_several: bool,
    /// The next step of its unfinished rollout, in percent.
    next_step: Option<i64>,
    /// Where it is promoted.
    promotion: String,
    deployment: &'p str,
    deployment_page: String,
    package_hash: String,
    size: String,
    download: String,
    /// Who released it with which credential, for those who may see the app's activity.
    credential: Option<&'static str>,
    diffs: diffs::View,
    contents: contents::View,
    counts: Vec<Count>,
    /// `None` once its first two days are over.
    first_days: Option<Vec<Point>>,
    metrics: String,
    events: Vec<Event>,
    can_release: bool,
}

/// A count with its definition, in the words of docs/numbers.md.
struct Count {
    name: &'static str,
    number: String,
    definition: &'static str,
}

impl Count {
    /// The counts of a release, and what diffs have saved, if they have; `all` is the number of the deployment's active devices.
    fn all(row: Option<&CounterRow>, all: i64) -> Vec<Self> {
        let [active, downloaded, installed, failed] =
            row.map_or([0; 4], |counts| [counts.active, counts.downloaded, counts.installed, counts.failed]);
        let tried = installed.saturating_add(failed);
        let of = |name, number, definition| Self { name, number, definition };
        let saved = view::saved(row.map_or(0, |counts| counts.bytes_saved)).map(|saved| {
            let definition = "An estimate of what devices did not have to download, because they got a diff instead of the full release. It grows with a device's first download report of that label, if there is a diff from the release that it last reported.";
            of("Saved by diffs", saved, definition)
        });
        let counts = [
            of(
                "Active",
                format!("{} ({} of the deployment's devices)", view::grouped(active), view::share(active, all)),
                "Devices that run it now. It grows when a device starts to run it, and falls when the device runs another one. Uninstalls are not noticed.",
            ),
            of(
                "Downloaded",
                view::grouped(downloaded),
                "Devices that have downloaded the release. It grows with a device's first download report of that label.",
            ),
            of(
                "Installed",
                view::grouped(installed),
                "Devices that have run it. It grows with a device's first success report of that label.",
            ),
            of(
                "Failed",
                view::grouped(failed),
                "Devices that have rolled back from it, because it failed. It grows with a device's first failure report of that label.",
            ),
            of(
                "Failure rate",
                format!("{} ({} of {})", view::share(failed, tried), view::grouped(failed), view::grouped(tried)),
                "Failed devices, as a share of those that have run it or rolled back from it.",
            ),
        ];
        counts.into_iter().chain(saved).collect()
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
) -> Result<Response> {
    let name = grant.called();
    let outlook = Outlook::read(&app.db, &app.front.outlook_turns, &grant, &deployment).await?;
    let mut tx = app.db.read().await?;
    let (row, before) = service::with_previous(&mut tx, &grant, &deployment, label).await?;
    let counters = counters::list(&mut tx, &metrics, &deployment).await?;
    let events = events::of_release(&mut tx, &grant, &row.id, MAX_EVENTS).await?;
    drop(tx);
    let listing = listing::read(&app, app.front.listing_turns(), &grant, &deployment, label).await?;
    let events = events.into_iter().map(|event| Event::of(&frame, event)).collect::<Result<Vec<_>>>()?;
    let all = counters.iter().map(|row| row.active).sum();
    let place_name = label.to_string();
    let first_days = recent::first_days(&app, &metrics, &deployment, label, row.upload_time).await?;
    let release = Summary::of(&frame, (name, &deployment), &row)?;
    let diffs = diffs::view(&frame, (name, &deployment), &listing, app.settings.makes_diffs)?;
    let earlier =
        before.as_ref().map(|before| contents::link(&frame, (name, &deployment), before).map(|link| (link, before))).transpose()?;
    let page = format!("{}/contents", release.page);
    let contents = contents::compared(&app, &grant, earlier, (&release.label, &row), page).await?;
    let page = place::deployment(name, &deployment);
    let counted = counters.iter().find(|row| row.place == place_name);
    let is_newest = outlook.newest() == Some(label);
    let is_live = !row.is_disabled && outlook.gets(&row.app_version).has(label_of(&release)?);
    view::page(&ReleasePage {
        crumbs: place::crumbs(&frame, &[(name, place::app(name)), (&deployment, page.clone())]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        audience: audience(&release, &outlook)?,
        is_fresh: is_live && frame.now().0 - row.upload_time.0 < FRESH,
        is_live,
        warning: counted.and_then(|row| failing::warning(&release.label, row.installed, row.failed)),
        can_roll_back: is_newest && outlook.has_earlier(),
        is_newest_of_several: is_newest && outlook.count() > 1,
        next_step: Some(&release).filter(|_| is_newest).and_then(next_step),
        promotion: promotion(&release, &deployment),
        release,
        deployment: &deployment,
        metrics: frame.path(&format!("{page}/metrics")),
        deployment_page: frame.path(&page),
        package_hash: row.package_hash.to_string(),
        size: view::bytes(row.size),
        download: download_url(&app.download_urls(), &BlobKey { app: grant.app().clone(), sha256: row.blob_sha256 }),
        credential: events.iter().find(|event| event.is_creation).map(|event| event.credential),
        diffs,
        contents,
        counts: Count::all(counted, all),
        first_days: first_days.map(|points| points.into_iter().map(Point::of).collect()),
        events,
        can_release: grant.also::<ManageReleases>(),
        frame: &frame,
    })
}
